"""Which files are runs of one respondent, and which are respondents of their own.

Files of answers are administrations of their own. Two that answer the same items under one model's
name are runs where their rows or their names say so (run, epoch, seed, repeat), or the user does;
else the model was asked in two ways, and the files' names tell them apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from os.path import commonpath
from pathlib import PurePath

from hqm.imports.intake import MAX_FIELDS, plain_letters

_RUN_IN_NAME = re.compile(
    r"(?:^|[\W_])(?:re)?(?:run|seed|epoch|repeat|repetition|replicate|rep|trial)s?[-_ =]?(\d+)"
    r"(?=$|[\W_])",
    re.IGNORECASE,
)


def say_runs(paths: Sequence[str]) -> bool:
    """Whether the names of files differ in nothing but the number of a run.

    >>> say_runs(["llava_run1.jsonl", "llava_run2.jsonl"]), say_runs(["x.jsonl", "x-CoT.jsonl"])
    (True, False)
    """
    labels = list(file_labels(paths).values())
    numbers = [_RUN_IN_NAME.findall(label) for label in labels]
    remainders = {_RUN_IN_NAME.sub(" ", label).strip() for label in labels}
    return all(numbers) and len(remainders) == 1 and len(set(map(str, numbers))) == len(labels)


def file_labels(paths: Sequence[str]) -> dict[str, str]:
    """Return path -> what tells the file from the others: its name, else its folders.

    >>> file_labels(["a/x.json", "a/x-CoT.json"])
    {'a/x.json': 'x', 'a/x-CoT.json': 'x-CoT'}
    >>> file_labels(["cot/x.json", "direct/x.json"])
    {'cot/x.json': 'cot', 'direct/x.json': 'direct'}
    """
    stems = {path: PurePath(path.replace("\\", "/")).stem for path in paths}
    if len(set(stems.values())) == len(paths):
        return stems
    absolute = len({path.startswith("/") for path in paths}) == 1
    folder = commonpath(paths) if absolute and len(paths) > 1 else ""
    labels = {}
    for path in paths:
        inside = PurePath(path.replace("\\", "/")).relative_to(folder).with_suffix("")
        is_same_stem = len(set(stems.values())) == 1
        labels[path] = str(inside.parent if is_same_stem else inside)
    return labels


def name_respondents(respondent: str, paths: Sequence[str]) -> Mapping[str, str]:
    """Return path -> the name of the respondent that answered in the file.

    >>> name_respondents("X", ["X.jsonl", "X-CoT.jsonl"])
    {'X.jsonl': 'X', 'X-CoT.jsonl': 'X-CoT'}
    >>> name_respondents("org/X", ["cot.jsonl", "direct.jsonl"])
    {'cot.jsonl': 'org/X cot', 'direct.jsonl': 'org/X direct'}
    """
    names = {}
    for path, label in file_labels(paths).items():
        is_named = plain_letters(respondent.rpartition("/")[2]) in plain_letters(label)
        names[path] = label if is_named else f"{respondent} {label}"
    return names


def describe_files(respondent: str, names: Sequence[str]) -> str:
    """Say that files of one model are taken as respondents of their own."""
    *first, last = names[:MAX_FIELDS]
    listed = f"{', '.join(first)} and {last}"
    if len(names) > MAX_FIELDS:
        listed = f"{', '.join(names[:MAX_FIELDS])} and {len(names) - MAX_FIELDS} more"
    return (
        f"{respondent} answers the same items in {len(names)} files, taken as {len(names)}"
        f" respondents, {listed}; --set files=runs takes them as runs"
    )
