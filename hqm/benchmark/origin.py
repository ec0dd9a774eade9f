"""Whether all parts of HQM come from one copy of it.

`adapters`, `benchmarks` and `reports` lie beside `hqm` in a checkout and are mounted under it by
the installation. In the folder of a second checkout Python takes `hqm` from there and the three
mounted parts from the installed one: two versions would be mixed without a word.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

from hqm.errors import UsageError

MOUNTED = ("adapters", "benchmarks", "reports")
"""What is installed as `hqm.<name>` and lies beside `hqm` in a checkout."""


@cache
def check_origin() -> None:
    """Make sure that the mounted parts lie in the package `hqm` (a wheel) or beside it (a
    checkout).

    Raises
    ------
    UsageError
        A part comes from another copy of HQM.
    """
    home = Path(__file__).resolve().parents[1]
    for name in MOUNTED:
        spec = importlib.util.find_spec(f"hqm.{name}")
        places = (
            [Path(place).resolve() for place in spec.submodule_search_locations or ()]
            if spec
            else []
        )
        if not places:
            raise UsageError(
                f"hqm.{name} is not installed", place=str(home), remedy="Install hqm-audit again."
            )
        if places[0] not in (home / name, home.parent / name):
            raise UsageError(
                f"two copies of HQM are mixed: hqm is imported from {home}, but hqm.{name} from"
                f" {places[0]}",
                remedy=(
                    f"Run `pip install --editable .` in {home.parent}, or work in"
                    f" {places[0].parent}."
                ),
            )
