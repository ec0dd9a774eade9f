"""A model reads items for faults, as advice (`hqm check NAME --read-with MODEL`).

It reads the items that are worth a person's time, and a random tenth of all, without which nobody
could tell whether it finds a fault in everything. What it says changes no finding and no score.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from pydantic import BaseModel, ValidationError

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.corrected_keys import CorrectedKey
from hqm.benchmark.judge_api import AskJudge
from hqm.errors import NoReply, UnreadableReply
from hqm.judges.judge_models import Judging
from hqm.judges.procedure import verdicts
from hqm.psychometrics.agreement.judge_error import WeightedAgreement, weighted_agreement
from hqm.signature import digest
from hqm.types import LETTERS, Form, Item, Response, Verdict

N_PERSON = 50
"""Items that a person has read, and that the model reads as well."""
MIN_COMPARED = 20
"""Items that a person and the model read, below which their agreement is not known."""
# Temperature 0: the readings of a repeated command are to be the same, and a reason takes one
# sentence.
SAMPLING = {"temperature": 0.0, "max_tokens": 400}
_FENCE = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)
_FAULTS = """\
- ambiguity: careful readers could give different answers, each of them right
- missing_premise: it cannot be answered from what is given, or assumes what is not so
- wrong_key: the key is not the right answer
- none: none of these"""


class Finding(BaseModel, extra="forbid", strict=True):
    """What a model replies about an item."""

    reason: str
    finding: Literal["ambiguity", "missing_premise", "wrong_key", "none"]


def item_prompt(item: Item) -> str:
    """Return the request to read an item for faults."""
    subject = " about the picture" if item.image else ""
    options = [
        f"{letter}. {option}\n" for letter, option in zip(LETTERS, item.options, strict=False)
    ]
    return (
        f"Below is an item of a benchmark: a question{subject}, and the answer that counts as right"
        f" (its key). Say whether the item has a fault:\n{_FAULTS}\n\nQuestion: {item.prompt}\n"
        f"{''.join(options)}Key: {item.target}\n\nReply with a JSON object alone:"
        ' {"reason": "one sentence", "finding": "ambiguity|missing_premise|wrong_key|none"}'
    )


def read_finding(reply: str) -> Finding:
    """Return the finding that a reply states.

    Raises
    ------
    UnreadableReply
        The reply is another thing than the JSON object that was asked for.

    Examples
    --------
    >>> read_finding('{"reason": "The key is no option.", "finding": "wrong_key"}').finding
    'wrong_key'
    """
    # Many models put JSON into a fence of Markdown, although they are asked for the object alone.
    fenced = _FENCE.fullmatch(reply.strip())
    try:
        return Finding.model_validate_json(fenced[1] if fenced else reply)
    except ValidationError:
        raise UnreadableReply(
            f"the reply is not the JSON object that was asked for: {reply!r:.60}"
        ) from None


class ItemReader(Benchmark):
    """A benchmark whose judge procedure reads the items, and no answers (`with_procedure`)."""

    @property
    def roles(self) -> tuple[str, ...]:
        return ("judge",)

    @property
    def jointly(self) -> bool:
        return False

    async def judge(self, item: Item, response: Response, ask: AskJudge) -> Verdict:
        """The finding (`read`) with its reason; 1 where the item has no fault."""
        # A model that sees one picture of several would find premises missing that are not.
        if item.material != (item.image or ""):
            raise NoReply("it has several pictures or a video, and one picture can be shown")
        schema = Finding.model_json_schema()
        reply = read_finding(await ask("judge", item_prompt(item), item.image, schema))
        return Verdict(float(reply.finding == "none"), read=reply.finding, reason=reply.reason)


def item_rows(form: Form) -> dict[str, list[Response]]:
    """Return the rows that the procedure is run over: for each item an answer of no meaning."""
    return {"": [Response("no answer is judged")] * len(form.items)}


@dataclass(frozen=True, slots=True)
class ItemReading:
    """What a model finds in an item.

    Parameters
    ----------
    item
        Its id.
    reasons
        Why it is read: `list` (the reading list), `random` (the random tenth), `person`.
    finding
        The finding; empty where there is no reply, or none that can be parsed.
    reason
        The model's reason, or why the item is unread.
    """

    item: str
    reasons: tuple[str, ...]
    finding: str
    reason: str

    @property
    def is_faulty(self) -> bool:
        """Whether the model finds a fault."""
        return self.finding not in ("", "none")


def choose_items(
    form: Form, listed: Collection[str], human_read: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Return the items to read in the order of the form, each with the reasons for it.

    The random tenth, and the items of those that a person has read, are the items of the least
    hashes: the same in every command, so that a longer reading list asks about its new items alone.
    """
    by_hash = sorted(form.by_id, key=digest)
    random = by_hash[: math.ceil(len(by_hash) / 10)]
    compared_items = [item for item in by_hash if item in human_read][:N_PERSON]
    reasons: dict[str, tuple[str, ...]] = dict.fromkeys(form.by_id, ())
    for reason, items in (("list", listed), ("random", random), ("person", compared_items)):
        for item in items:
            reasons[item] += (reason,)
    return {item: item_reasons for item, item_reasons in reasons.items() if item_reasons}


def person_faults(key: CorrectedKey | None) -> dict[str, bool]:
    """Return item -> whether a person who read its key changed the key or left the item out."""
    if key is None:
        return {}
    return dict.fromkeys(key.targets, False) | dict.fromkeys((*key.changed, *key.left_out), True)


@dataclass(frozen=True)
class ItemReadings:
    """What a model finds in the items of a benchmark, and how far a person agrees."""

    model: str
    rows: tuple[ItemReading, ...]
    n_compared: int
    """Items that a person and the model read."""
    agreement: WeightedAgreement

    def sentences(self) -> Iterator[str]:
        """Yield what the terminal says."""
        yield f"{self.model} read items, as advice: it changes neither findings nor exit status."
        for reason, name in (("list", "the reading list"), ("random", "a random tenth")):
            rows = [row for row in self.rows if reason in row.reasons and row.finding]
            n_faulty = sum(row.is_faulty for row in rows)
            yield f"It finds a fault in {n_faulty} of {len(rows)} items of {name}."
        for row in self.rows:
            if row.is_faulty:
                yield f"    {row.item}: {row.finding.replace('_', ' ')}: {row.reason}"
        unread = [row for row in self.rows if not row.finding]
        if unread:
            yield f"Items without a reading: {len(unread)}. The first: {unread[0].reason}."
        if self.n_compared < MIN_COMPARED:
            yield (
                f"Its agreement with a person is not known: both read {self.n_compared} items, and"
                f" {MIN_COMPARED} are needed. Mark items keep, wrong key or ambiguous in a file"
                " (item,mark), and add --key FILE."
            )
            return
        share = self.agreement.agreement
        kappa = self.agreement.kappa
        if share.fixed is not None:
            yield (
                f"It agrees with a person on whether there is a fault in {100 * share.value:.1f} %"
                f" [{100 * share.fixed.low:.1f}, {100 * share.fixed.high:.1f}] of"
                f" {self.n_compared} items."
            )
        if kappa.fixed is not None:
            yield f"Kappa is {kappa.value:.2f} [{kappa.fixed.low:.2f}, {kappa.fixed.high:.2f}]."
        else:
            yield f"Kappa is not known: {kappa.reason}."

    def to_dict(self) -> dict[str, object]:
        """Return the readings as JSON data; numbers that are not known are null."""
        data: dict[str, object] = {
            "model": self.model,
            "items": list(map(asdict, self.rows)),
            "compared": self.n_compared,
        }
        for name in ("agreement", "kappa"):
            coefficient = getattr(self.agreement, name)
            data[name] = data[f"{name}_interval"] = None
            if self.n_compared >= MIN_COMPARED and coefficient.fixed is not None:
                data[name] = coefficient.value
                data[f"{name}_interval"] = [coefficient.fixed.low, coefficient.fixed.high]
        return data


def collect_readings(
    judging: Judging,
    form: Form,
    reasons: Mapping[str, tuple[str, ...]],
    human_faults: Mapping[str, bool],
) -> ItemReadings:
    """Return the readings of the chosen items, a form of their own, from stored replies alone.

    `human_faults` says in which items a person finds a fault. Agreement is over clusters of items.
    """
    asking = judging.asking(0)
    item_verdicts = verdicts(judging.benchmark, form, item_rows(form), lambda _: asking)[""]
    rows = []
    labels = []
    for item, verdict in zip(form.items, item_verdicts, strict=True):
        row = ItemReading(item.id, reasons[item.id], verdict.read, verdict.reason)
        rows.append(row)
        if row.finding and item.id in human_faults:
            cluster = item.cluster or item.image or item.id
            labels.append((row.is_faulty, human_faults[item.id], cluster))
    # zip(*[]) gives no columns at all, so that nothing could be unpacked.
    model_labels, person_labels, clusters = zip(*labels, strict=True) if labels else ((), (), ())
    agreement = weighted_agreement([model_labels], [person_labels], clusters)
    return ItemReadings(judging.label, tuple(rows), len(labels), agreement)
