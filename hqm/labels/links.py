"""The links of a study: a secret token for each rater and one for the owner, kept beside the plan
for its owner alone.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hqm.errors import DataError

_BYTES = 24


@dataclass(frozen=True)
class Links:
    """The tokens of one study."""

    owner: str
    raters: Mapping[str, str]
    """Rater -> token."""

    def rater_of(self, token: str) -> str | None:
        """The rater that a token belongs to; all are compared, each in the same time, whatever was
        given.
        """
        match = None
        for rater, secret in self.raters.items():
            if secrets.compare_digest(secret.encode(), token.encode("utf-8", "replace")):
                match = rater
        return match

    def is_owner(self, token: str) -> bool:
        return secrets.compare_digest(self.owner.encode(), token.encode("utf-8", "replace"))


def links_path(plan: Path) -> Path:
    """The file of tokens that belongs to a plan.

    >>> links_path(Path("study/plan.jsonl")).name
    'plan.links.json'
    """
    return plan.with_name(f"{plan.stem}.links.json")


def read_links(plan: Path, raters: Sequence[str], *, renew: bool = False) -> Links:
    """The tokens of a study, made where they are missing, so that a link works again after the
    server was started anew.

    `renew` makes all of them new, and the old links stop working.

    Raises
    ------
    DataError
        The file cannot be read or written.
    """
    path = links_path(plan)
    data: dict[str, object] = {}
    try:
        if path.is_file() and not renew:
            data = json.loads(path.read_text(encoding="utf-8"))
        known = data.get("raters", {}) if isinstance(data, dict) else {}
        if not isinstance(known, dict):
            raise ValueError("it holds no links")
        tokens = {rater: str(known.get(rater) or secrets.token_urlsafe(_BYTES)) for rater in raters}
        owner = str(data.get("owner") or secrets.token_urlsafe(_BYTES))
        made = {"owner": owner, "raters": {**known, **tokens}}
        if made != data:
            part = path.with_name(f"{path.name}.part")
            part.unlink(missing_ok=True)
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump(made, file, indent=1)
            part.replace(path)
    except (OSError, ValueError, AttributeError) as error:
        what = f"the links of the study cannot be kept: {error}"
        raise DataError(
            what,
            place=str(path),
            remedy="Correct its permissions, or remove it: new links are made.",
        ) from None
    return Links(owner, tokens)
