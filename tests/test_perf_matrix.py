"""The benchmarks of local models run end to end, at their smallest: one cell of the matrix, one
count of passes.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import NO_TORCH

pytest.importorskip("transformers", reason=NO_TORCH)
from tests.perf import matrix_models, respondents

pytestmark = pytest.mark.usefixtures("threads")

SMALL = [
    "--images",
    "2",
    "--batches",
    "1",
    "2",
    "--part",
    "2",
    "--least",
    "0",
    "--compared",
    "2",
    "--threads",
    "1",
]


def test_a_cell_is_measured_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--json", str(tmp_path / "cells.json"), "--markdown", str(tmp_path / "cells.md")]
    respondents.main(
        [
            "--matrix",
            "--models",
            "llava",
            "--work",
            "yesno1",
            "caption24",
            "--tokens",
            "10",
            *SMALL,
            *files,
        ]
    )
    cells = json.loads((tmp_path / "cells.json").read_text())
    yes_no, caption = cells["cells"]
    assert (yes_no["mean_tokens"], yes_no["images"], yes_no["requests"]) == (9.0, 2, 6)
    assert yes_no["shares"] == caption["shares"] == "shared image prefix"
    assert set(yes_no["rates"]) == set(yes_no["worked"]) == {"HQM", "1", "2"}
    assert yes_no["equal"] == {"HQM": 1.0, "2": 1.0}
    rates = {method: rounds[0] for method, rounds in yes_no["rates"].items()}
    assert yes_no["ratio"] == pytest.approx(rates["HQM"] / max(rates["1"], rates["2"]))
    assert yes_no["lengths"]["HQM"] == yes_no["lengths"]["plain"] == 2, (
        "yes/no answers are cut at two tokens"
    )
    assert 3 < caption["lengths"]["HQM"] < 24, "captions end before the limit, and not at once"
    text = (tmp_path / "cells.md").read_text()
    assert f"{yes_no['ratio']:.2f} (batch {yes_no['best']})" in text
    assert "of 2 cells" in text
    assert text in capsys.readouterr().out


def test_the_passes_of_a_picture_are_counted(tmp_path: Path) -> None:
    """Three pictures, with the memory for all questions: one pass each, and the check of the first
    four answers.
    """
    file = tmp_path / "passes.json"
    respondents.main(
        [
            "--passes",
            "--images",
            "3",
            "--administrations",
            "3",
            "--memories",
            "500",
            "--threads",
            "1",
            "--json",
            str(file),
        ]
    )
    (row,) = json.loads(file.read_text())["rows"]
    assert row["pictures"] == 3
    assert row["answers"] > 3 * 3 * 7
    n_decoded = row["passes"]["shared"] - row["pictures"]
    assert 0 <= n_decoded <= 4, "those of the first answers, which are compared with plain generate"
    assert row["passes"]["tower"] == row["passes"]["shared"] + row["passes"]["within_generate"]


def test_a_bias_on_the_end_token_gives_the_wanted_mean_length() -> None:
    """Where the end token always has the chance p, lengths are geometric, cut at T: the mean is (1
    - (1 - p)^T) / p.
    """
    odds = np.full((3, 24), np.log(0.1 / 0.9))
    assert matrix_models.mean_length(odds, 0.0) == pytest.approx((1 - 0.9**24) / 0.1)
    assert matrix_models.mean_length(odds, 60.0) == pytest.approx(1.0)
    assert matrix_models.mean_length(odds, -60.0) == pytest.approx(24.0)
