"""Which files are runs of one respondent, and which are respondents of their own.

Files of answers are administrations of their own. Two that answer the same items under one model's
name are runs where their rows or their names say so (run, epoch, seed, repeat), or the user does;
else the model was asked in two ways, and the files' names tell them apart.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from operator import attrgetter
from os.path import commonpath
from pathlib import PurePath

from hqm.files.records import MAX_NAMED_FIELDS, file_stem
from hqm.imports.intake import plain_letters

# The word is needed: a number alone, as in llama-2, belongs to the model's name.
RUN_IN_NAME = re.compile(
    r"(?:^|[\W_])(?:re)?(?:run|seed|epoch|repeat|repetition|replicate|rep|trial|asking)s?"
    r"[-_ =]?(\d+)(?=$|[\W_])",
    re.IGNORECASE,
)
"""The number of a run, of an answer or of a judgement, in the name of a file."""


def say_runs(paths: Sequence[str]) -> bool:
    """Whether the names of files differ in nothing but the number of a run.

    >>> say_runs(["llava_run1.jsonl", "llava_run2.jsonl"]), say_runs(["x.jsonl", "x-CoT.jsonl"])
    (True, False)
    """
    labels = file_labels(paths).values()
    numbers = list(map(RUN_IN_NAME.findall, labels))
    remainders = {RUN_IN_NAME.sub(" ", label).strip() for label in labels}
    return all(numbers) and len(remainders) == 1 and len(set(map(str, numbers))) == len(labels)


def join_runs(names: Mapping[str, str]) -> dict[str, str]:
    """Return path -> the name without the number of a run, of files that differ in nothing else;
    where nothing is left of it, that of the files or of their folder.

    >>> join_runs({"a": "x_run1", "b": "x_run2", "c": "y_run1"})
    {'a': 'x', 'b': 'x', 'c': 'y_run1'}
    >>> join_runs({"x/run0/answers.json": "run0", "x/run1/answers.json": "run1"})
    {'x/run0/answers.json': 'answers', 'x/run1/answers.json': 'answers'}
    """
    paths_of: dict[str, list[str]] = defaultdict(list)
    for path, name in names.items():
        paths_of[RUN_IN_NAME.sub(" ", name).strip(" _-")].append(path)
    joined = dict(names)
    for remainder, paths in paths_of.items():
        numbers = {str(RUN_IN_NAME.findall(names[path])) for path in paths}
        if len(paths) > 1 and len(numbers) == len(paths):
            joined.update(dict.fromkeys(paths, remainder or _shared_name(paths)))
    return joined


def _shared_name(paths: Sequence[str]) -> str:
    """The name that files in several folders have, else that of their folder."""
    stems = list(dict.fromkeys(map(file_stem, paths)))
    folders = [PurePath(path).parent for path in paths]
    # commonpath raises where some paths are absolute and others are not
    if len(stems) > 1 and len(set(map(PurePath.is_absolute, folders))) == 1:
        return PurePath(commonpath(folders)).name or stems[0]
    return stems[0]


def file_labels(paths: Sequence[str]) -> dict[str, str]:
    """Return path -> what tells the file from the others: its name, else its folders.

    >>> file_labels(["a/x.json", "a/x-CoT.json"])
    {'a/x.json': 'x', 'a/x-CoT.json': 'x-CoT'}
    >>> file_labels(["cot/x.json", "direct/x.json"])
    {'cot/x.json': 'cot', 'direct/x.json': 'direct'}
    """
    plain_paths = _plain_paths(paths)
    stems = list(map(file_stem, plain_paths.values()))
    if len(set(stems)) == len(paths):
        return dict(zip(plain_paths, stems, strict=True))
    # paths of which only some are absolute have no folder in common
    absolute = len({path.startswith("/") for path in paths}) == 1
    # commonpath raises where some paths are absolute and others are not.
    folder = commonpath(paths) if absolute and len(paths) > 1 else ""
    labels = {}
    for path, plain in plain_paths.items():
        label = plain.relative_to(folder).with_suffix("")
        labels[path] = str(label.parent if len(set(stems)) == 1 else label)
    return labels


def _plain_paths(paths: Iterable[str]) -> dict[str, PurePath]:
    """Path -> the same path, also where Windows wrote it."""
    return {path: PurePath(path.replace("\\", "/")) for path in paths}


def name_respondents(respondent: str, paths: Sequence[str]) -> Mapping[str, str]:
    """Return path -> the name of the respondent that answered in the file.

    >>> name_respondents("X", ["X.jsonl", "X-CoT.jsonl"])
    {'X.jsonl': 'X', 'X-CoT.jsonl': 'X-CoT'}
    >>> name_respondents("org/X", ["cot.jsonl", "direct.jsonl"])
    {'cot.jsonl': 'org/X cot', 'direct.jsonl': 'org/X direct'}
    """
    names = {}
    for path, label in file_labels(paths).items():
        # The organisation in front of a model's name is left out of most file names.
        holds_name = plain_letters(respondent.rpartition("/")[2]) in plain_letters(label)
        names[path] = label if holds_name else f"{respondent} {label}"
    return names


def name_files(answered: Mapping[str, Collection[Hashable]]) -> dict[str, str]:
    """Return path -> the respondent that answered in the file, where no row names one.

    The answers to one item twice are of two respondents. Of the folders and names that tell the
    files apart, the fewest are taken that separate such files: of `llava/Math.json`,
    `qwen/Math.json` and `llava/Art.json` the folder. Files that answer different items are parts of
    one respondent.

    Parameters
    ----------
    answered
        Path -> what is answered in the file.

    Examples
    --------
    >>> name_files({"e/a.json": [1, 2], "e/b.json": [1, 2]})
    {'e/a.json': 'a', 'e/b.json': 'b'}
    >>> name_files({"e/x/a.json": [1], "e/x/b.json": [2], "e/y/a.json": [1], "e/y/b.json": [2]})
    {'e/x/a.json': 'x', 'e/x/b.json': 'x', 'e/y/a.json': 'y', 'e/y/b.json': 'y'}
    >>> name_files({"e/a.json": [1], "e/b.json": [2]})
    {'e/a.json': 'e', 'e/b.json': 'e'}
    >>> name_files({"Art_x.json": [1], "Law_x.json": [2], "Art_y.json": [1], "Law_y.json": [2]})
    {'Art_x.json': 'x', 'Law_x.json': 'x', 'Art_y.json': 'y', 'Law_y.json': 'y'}
    """
    plain_paths = _plain_paths(answered)
    folder = PurePath(commonpath(list(map(attrgetter("parent"), plain_paths.values()))))
    if len(set(map(PurePath.is_absolute, plain_paths.values()))) > 1:
        folder = PurePath()
    by_depth: dict[int, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for path, plain in plain_paths.items():
        levels = (*plain.relative_to(folder).parent.parts, file_stem(plain))
        by_depth[len(levels)][path] = levels
    names: dict[str, str] = {}
    for levels_by_path in by_depth.values():
        labels = {}
        if len(levels_by_path) > 1:
            labels = _fewest_labels(levels_by_path, answered)
        for path, levels in levels_by_path.items():
            names[path] = labels.get(path, levels[-1]) or folder.name or levels[-1]
    # files at another depth may have been given the same name for another respondent
    for levels_by_path in list(by_depth.values())[1:]:
        deeper = {names[path] for path in names.keys() - levels_by_path.keys()}
        for path, levels in levels_by_path.items():
            if names[path] in deeper:
                names[path] = " ".join(levels)
    return names


def _fewest_labels(
    levels_by_path: Mapping[str, Sequence[str]], answered: Mapping[str, Collection[Hashable]]
) -> dict[str, str]:
    """Return path -> the label that tells its respondent from the others, the fewest of which are
    enough. A name may hold a part and a model, joined by the first or the last `_`.
    """
    candidates = [levels_by_path]
    if all("_" in levels[-1].strip("_") for levels in levels_by_path.values()):
        for partition in (str.partition, str.rpartition):
            split: dict[str, Sequence[str]] = {}
            for path, (*folders, stem) in levels_by_path.items():
                head, _, tail = partition(stem, "_")
                split[path] = (*folders, head, tail)
            candidates.append(split)
    choices = []
    for candidate in candidates:
        chosen_levels = _levels_apart(candidate, answered)
        labels = {}
        for path, levels in candidate.items():
            labels[path] = " ".join(levels[level] for level in chosen_levels)
        choices.append(labels)
    return min(choices, key=lambda labels: len(set(labels.values())))


def _levels_apart(
    levels_by_path: Mapping[str, Sequence[str]], answered: Mapping[str, Collection[Hashable]]
) -> tuple[int, ...]:
    """The fewest levels of folders and names of which no two files that answer the same item have
    the same; of equally many those with the fewest labels.
    """
    n_levels = len(next(iter(levels_by_path.values())))
    # The fewest first: a folder that tells models apart needs no part beside it.
    for size in range(n_levels + 1):
        choices = []
        for chosen_levels in combinations(range(n_levels), size):
            items_by_label: dict[tuple[str, ...], list[Hashable]] = defaultdict(list)
            for path, levels in levels_by_path.items():
                items_by_label[tuple(levels[level] for level in chosen_levels)] += set(
                    answered[path]
                )
            items = items_by_label.values()
            # No item is answered twice under one label: the lists are as long as their sets.
            if sum(map(len, items)) == sum(map(len, map(set, items))):
                # Of equally few levels, those with the fewest labels, and of these the first.
                choices.append((sum(map(bool, items)), chosen_levels))
        if choices:
            return min(choices)[1]
    return tuple(range(n_levels))


def describe_parts(names: Mapping[str, str], n_items: Mapping[str, int]) -> list[str]:
    """Say which files are parts of one respondent's answers, with the items that each answers.

    >>> describe_parts({"a.json": "m", "b.json": "m", "c.json": "n"}, {"a.json": 9, "b.json": 8})
    ['2 files answer different items (a 9, b 8), taken as parts of one respondent, m']
    """
    by_name: dict[str, list[str]] = defaultdict(list)
    for path, name in names.items():
        by_name[name].append(path)
    notes = []
    for name, paths in by_name.items():
        if len(paths) < 2:
            continue
        labels = file_labels(paths)
        counts = [f"{labels[path]} {n_items[path]:,}" for path in paths[:MAX_NAMED_FIELDS]]
        if len(paths) > MAX_NAMED_FIELDS:
            counts.append(f"and {len(paths) - MAX_NAMED_FIELDS} more")
        notes.append(
            f"{len(paths)} files answer different items ({', '.join(counts)}), taken as parts of"
            f" one respondent, {name}"
        )
    return notes[:MAX_NAMED_FIELDS]


def describe_runs(names: Mapping[str, str], names_of_runs: Mapping[str, str]) -> list[str]:
    """Say which files are taken as runs of one respondent, by their names."""
    joined = [name for path, name in names_of_runs.items() if name != names[path]]
    counts = [f"{name} {n}" for name, n in Counter(joined).items()]
    if not counts:
        return []
    listed = list_names(counts, MAX_NAMED_FIELDS)
    return [f"files that differ in the number of a run alone are taken as runs: {listed}"]


def list_names(names: Sequence[str], max_names: int) -> str:
    """List the first names, and say how many more there are.

    >>> list_names(["a"], 2), list_names(["a", "b"], 2), list_names(["a", "b", "c"], 2)
    ('a', 'a and b', 'a, b and 1 more')
    """
    n_more = len(names) - max_names
    if n_more > 0:
        return f"{', '.join(names[:max_names])} and {n_more} more"
    *first_names, last = names
    return f"{', '.join(first_names)} and {last}" if first_names else last


def describe_files(respondent: str, names: Sequence[str]) -> str:
    """Say that files of one model are taken as respondents of their own."""
    listed = list_names(names, MAX_NAMED_FIELDS)
    return (
        f"{respondent} answers the same items in {len(names)} files, taken as {len(names)}"
        f" respondents, {listed}; --set files=runs takes them as runs"
    )
