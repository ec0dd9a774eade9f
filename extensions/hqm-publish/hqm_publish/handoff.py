"""Hand a benchmark's forms to another tool: a folder from which inspect or lmms-eval asks them, and
whose logs come back.

The folder holds the questions as HQM asks them (options, prefix and suffix included), the pictures,
and the tool's own files. Every row carries the item's id and the form, so that `hqm import` matches
each answer by id.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from hqm.benchmark.adapter import Benchmark
from hqm.errors import DataError
from hqm.files.parquet import pyarrow_library
from hqm.files.records import write_records
from hqm.files.whole import atomic_folder, write_texts
from hqm.types import Form, Item

_INSPECT = '''"""{title}: asked by inspect, in the forms that HQM made.

Written by `hqm export {name} --to inspect`.

    inspect eval {file} --model openai/<model> -T form=parallel --epochs 2
    hqm import logs/*.eval --benchmark {name} --store store.sqlite
"""

import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, GenerateConfig
from inspect_ai.scorer import Score, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState, generate

HERE = Path(__file__).parent


def sample(row: dict) -> Sample:
    content = [ContentText(text=row["prompt"])]
    if row["image"]:
        content.insert(0, ContentImage(image=str(HERE / "images" / row["image"])))
    metadata = {{
        "item": row["id"],
        "form": row["form"],
        "image": row["image"] or "",
        "type": row["type"] or "",
    }}
    message = ChatMessageUser(content=content)
    return Sample(id=row["id"], input=[message], target=row["target"], metadata=metadata)


@scorer(metrics=[accuracy(), stderr()])
def first_word():
    """The first word of the answer against the target; HQM scores the answers anew."""

    async def score(state: TaskState, target: Target) -> Score:
        words = state.output.completion.strip().lower().split()
        said = words[0].strip(".,:;!()") if words else ""
        value = "C" if said == target.text.lower() else "I"
        return Score(value=value, answer=said, explanation=state.output.completion)

    return score


@task
def {name}(form: str = "original") -> Task:
    lines = (HERE / f"{{form}}.jsonl").read_text(encoding="utf-8").splitlines()
    samples = [sample(json.loads(line)) for line in lines]
    config = GenerateConfig(max_tokens={max_tokens}, temperature={temperature}, top_p={top_p})
    dataset = MemoryDataset(samples, name="{name}")
    return Task(dataset=dataset, solver=generate(), scorer=first_word(), config=config)
'''

_LMMS_YAML = """# {title}, form {form}. Written by `hqm export {name} --to lmms-eval`.
#   cd <this folder>
#   python -m lmms_eval --model <model> --tasks {name}_{form} --include_path . \\
#     --log_samples --output_path logs
#   hqm import logs --benchmark {name} --store store.sqlite
task: {name}_{form}
dataset_path: parquet
dataset_kwargs:
  data_files:
    test: {parquet}
test_split: test
output_type: generate_until
doc_to_visual: !function utils.doc_to_visual
doc_to_text: !function utils.doc_to_text
doc_to_target: target
process_results: !function utils.process_results
generation_kwargs:
  max_new_tokens: {max_tokens}
  temperature: {temperature}
  top_p: {top_p}
  do_sample: {sample}
  num_beams: 1
metric_list:
  - metric: hqm_first_word
    aggregation: !function utils.mean
    higher_is_better: true
cluster_key: cluster
metadata:
  - version: {version}
"""

_LMMS_UTILS = '''"""What lmms-eval calls for the tasks in this folder.

Written by `hqm export NAME --to lmms-eval`.
"""


def doc_to_visual(doc):
    return [doc["image"].convert("RGB")] if doc["image"] is not None else []


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    return doc["prompt"]


def process_results(doc, results):
    """The first word against the target; HQM finds the item by its id and form."""
    words = results[0].strip().lower().split()
    said = words[0].strip(".,:;!()") if words else ""
    score = float(said == doc["target"].lower())
    named = {"question_id": doc["id"], "form": doc["form"], "score": score, "prediction": said}
    return {"hqm_first_word": {**named, "ground_truth": doc["target"]}}


def mean(results):
    return sum(result["score"] for result in results) / len(results) if results else 0.0
'''


def hand_over(
    benchmark: Benchmark,
    tool: str,
    folder: Path,
    forms: Sequence[Form],
) -> None:
    """Write the folder from which a tool (`inspect` or `lmms-eval`) asks these forms.

    Raises
    ------
    DataError
        A picture is missing.
    """
    benchmark.prepare_images(benchmark.original)
    with atomic_folder(folder) as temporary_folder:
        write = _inspect if tool == "inspect" else _lmms_eval
        write(benchmark, temporary_folder, forms)


def _inspect(benchmark: Benchmark, folder: Path, forms: Sequence[Form]) -> None:
    (folder / "images").mkdir()
    names = _pictures(benchmark, folder / "images", forms)
    for form in forms:
        # A generator: the file is written row by row.
        rows = (
            {**asked_row(benchmark, item, form), "image": names.get(item.image or "")}
            for item in form.items
        )
        write_records(folder / f"{form.name}.jsonl", rows)
    generation = benchmark.card.generation
    name = benchmark.name
    program = _INSPECT.format(
        title=benchmark.card.title,
        name=name,
        file=f"{name}.py",
        max_tokens=generation.max_tokens,
        temperature=generation.temperature,
        top_p=generation.top_p,
    )
    write_texts(folder, {f"{name}.py": program})


def _lmms_eval(benchmark: Benchmark, folder: Path, forms: Sequence[Form]) -> None:
    pa = pyarrow_library()
    generation = benchmark.card.generation
    name = benchmark.name
    # the schema that the library `datasets` writes beside an image column, so that it decodes the
    # pictures
    texts = ("id", "form", "prompt", "target", "type", "part", "cluster")
    text_feature = {"dtype": "string", "_type": "Value"}
    features = {**dict.fromkeys(texts, text_feature), "image": {"_type": "Image"}}
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    schema = pa.schema({**dict.fromkeys(texts, pa.string()), "image": kind}).with_metadata(
        {"huggingface": json.dumps({"info": {"features": features}})}
    )
    for form in forms:
        path = folder / f"{form.name}.parquet"
        with pa.parquet.ParquetWriter(path, schema) as writer:
            # one row group at a time: all pictures of a benchmark may not fit into memory
            for start in range(0, len(form.items), 500):
                rows = [
                    {**asked_row(benchmark, item, form), "image": _bytes(benchmark, item)}
                    for item in form.items[start : start + 500]
                ]
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
        settings = _LMMS_YAML.format(
            title=benchmark.card.title,
            name=name,
            form=form.name,
            parquet=path.name,
            version=_version(benchmark),
            max_tokens=generation.max_tokens,
            temperature=generation.temperature,
            top_p=generation.top_p,
            sample=str(generation.temperature > 0).lower(),
        )
        write_texts(folder, {f"{name}_{form.name}.yaml": settings, "utils.py": _LMMS_UTILS})


def _version(benchmark: Benchmark) -> str:
    number = re.match(r"\d+(?:\.\d+)?", benchmark.card.version)
    if number:
        return number[0]
    return "0"


def asked_row(benchmark: Benchmark, item: Item, form: Form) -> dict[str, object]:
    """Return what a tool asks of an item: id, form, the whole question, and the right answer."""
    if isinstance(item.target, str):
        target = item.target
    else:
        target = json.dumps(item.target, ensure_ascii=False)
    return {
        "id": item.id,
        "form": form.name,
        "prompt": benchmark.question_text(item),
        "target": "" if item.target is None else target,
        "type": item.type or "",
        "part": item.part,
        "cluster": item.cluster or item.image or item.id,
    }


def picture_path(benchmark: Benchmark, name: str) -> Path:
    """Return the file of a picture.

    Raises
    ------
    DataError
        It is missing.
    """
    if not benchmark.pictures.has(name):
        raise DataError(
            f"the picture {name!r} is missing, and the tool would ask without it",
            location=str(benchmark.images),
            remedy="Name the pictures with --images.",
        )
    return Path(benchmark.pictures.path(name))


def _pictures(benchmark: Benchmark, folder: Path, forms: Sequence[Form]) -> Mapping[str, str]:
    """Copy every picture under a plain name; picture -> that name."""
    names: dict[str, str] = {}
    for image in dict.fromkeys(chain.from_iterable(form.images for form in forms)):
        source = picture_path(benchmark, image)
        plain = re.sub(r"[^A-Za-z0-9._-]+", "_", image).lstrip("._") or "picture"
        # two names that differ only in replaced characters need two files
        while plain in names.values():
            plain = f"{Path(plain).stem}_{Path(plain).suffix}"
        shutil.copyfile(source, folder / plain)
        names[image] = plain
    return names


def _bytes(benchmark: Benchmark, item: Item) -> dict[str, object] | None:
    if not item.image:
        return None
    return {
        "bytes": picture_path(benchmark, item.image).read_bytes(),
        "path": Path(item.image).name,
    }
