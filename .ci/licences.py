#!/usr/bin/env python3
"""The licences of all that `pip install hqm-audit` brings; status 1 where one is the GPL or AGPL.

    python .ci/licences.py [EXTRA ...]

It reads what is installed beside it, and follows the requirements from hqm-audit on.
"""

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement

BINDING = re.compile(r"(?<!L)(?<!Lesser )\bA?GPL|(?<!Lesser )General Public License", re.IGNORECASE)
CHOICE = re.compile(r"\bOR\b")


def licence_of(name: str) -> str:
    """What a distribution says of its licence, in a line."""
    about = distribution(name).metadata
    named = [
        c.rpartition(" :: ")[2] for c in about.get_all("Classifier") or () if "License ::" in c
    ]
    text = about.get("License-Expression") or ", ".join(named) or about.get("License") or "not said"
    return " ".join(text.split())[:100]


def installed(extras: set[str]) -> list[str]:
    """hqm-audit and all that it requires, as far as it is installed."""
    seen: set[str] = set()
    tried: set[tuple[str, ...]] = set()
    left = [("hqm-audit", extras)]
    while left:
        name, wanted = left.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if (key, *sorted(wanted)) in tried:
            continue
        tried.add((key, *sorted(wanted)))
        try:
            texts = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        seen.add(key)
        for requirement in map(Requirement, texts):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": e}) for e in wanted or {""}):
                left.append((requirement.name, requirement.extras))
    return sorted(seen)


def main() -> int:
    """Print the list."""
    names = installed(set(sys.argv[1:]))
    licences = {name: licence_of(name) for name in names}
    for name, text in licences.items():
        print(f"{name:28} {distribution(name).version:14} {text}")
    bound = [n for n, text in licences.items() if BINDING.search(text) and not CHOICE.search(text)]
    print(
        f"{len(names)} packages; "
        + (f"GPL or AGPL: {', '.join(bound)}" if bound else "none is GPL or AGPL")
    )
    return 1 if bound else 0


if __name__ == "__main__":
    raise SystemExit(main())
