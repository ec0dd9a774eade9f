"""What `hqm label status` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hqm.commands.terminal import print_all, terminal_table

if TYPE_CHECKING:
    from hqm.labels.status import StudyStatus


def study_status(status: StudyStatus) -> None:
    """`hqm label status`: raters, agreement, labels, width."""
    raters = terminal_table(
        "",
        "rater",
        "labels",
        "of",
        "seconds",
        "gold right",
        "cannot say",
        "notes",
        "time left",
        right=range(1, 7),
    )
    for rater in status.raters:
        gold = f"{rater.gold_right} of {rater.gold_done}" if rater.gold_done else "-"
        pace = "-" if rater.seconds is None else f"{rater.seconds:.1f}"
        left = rater.time_left or ("done" if rater.done == rater.count else "-")
        counts = (
            str(rater.done),
            str(rater.count),
            pace,
            gold,
            str(rater.cannot_say),
            str(rater.notes),
        )
        raters.add_row(rater.rater, *counts, left)
    print_all(
        f"{status.labelled} of {status.rows} have a label, {status.overlapping} have two or more.",
        raters,
    )
    agreement = terminal_table("", "agreement", "value", "95% interval", "answers", right=(1, 3))
    for row in status.agreement:
        ends = "-" if row.low is None or row.high is None else f"{row.low:.3f} to {row.high:.3f}"
        value = "-" if row.value is None else f"{row.value:.3f}"
        agreement.add_row(row.name, value, row.reason or ends, str(row.n))
    print_all(agreement)
    print(f"disagreements: {status.disagreements}, settled {status.adjudicated}")
    print("labels: " + ", ".join(f"{words} {count}" for words, count in status.choices.items()))
    if status.width is None:
        print("width: not yet known; it needs labels of answers about two pictures")
        return
    width = status.width
    print(
        f"mean label {width.mean:.3f}, 95% interval {width.low:.3f} to {width.high:.3f}, width"
        f" {width.width:.3f}, by the labels alone"
    )
    if status.expected_width is not None:
        print(
            f"the plan expects {status.expected_width:.3f} for the corrected mean score, for which"
            " the audit uses the scores of all answers too"
        )
