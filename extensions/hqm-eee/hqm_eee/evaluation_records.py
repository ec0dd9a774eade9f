"""What a store holds, as records of Every Eval Ever 0.3.0, the schema in which evaluations are
shared across tools.

A record is a pair of files: `data/<collection>/<developer>/<model>/<uuid>.json` says who was
evaluated, how, and with which scores; `<uuid>_samples.jsonl` beside it has a row for every answer.
Each pair is one administration: a respondent, a form and a run. What the schema has no field for
(form, run, picture, state of an answer) stands in its `metadata` and `details`.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

import numpy as np

from hqm.administration.asks import StoredRespondent
from hqm.administration.stored_answers import Answers, was_administered
from hqm.benchmark.adapter import Benchmark
from hqm.errors import HQMError, UsageError
from hqm.files.whole import write_text
from hqm.judges.file_judge import FileJudge, Judge
from hqm.psychometrics import jackknife_interval
from hqm.respondents.base import RespondentName
from hqm.scoring.matrix import ScoreMatrix, metric_of
from hqm.scoring.metrics import Metric
from hqm.signature import digest, sha256_file
from hqm.types import STATES, Cell, Form, Item, Response, Verdict
from hqm.version import __version__

# ----------------------------------------------------------------------
# A respondent as Every Eval Ever names models: `developer/model`, how it was run, and the folder
# of its records.
# ----------------------------------------------------------------------

NO_DEVELOPER = "unspecified"
"""Stands for the developer of a model whose name says none."""

_UNSAFE = re.compile(r'[<>:"\\|?*\x00-\x1f]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\..*)?", re.IGNORECASE)
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_ENGINES = {"hf": "transformers", "vllm": "vLLM"}


def model_info(name: str, identity: Mapping[str, Any]) -> dict[str, Any]:
    """The field `model_info` of a record.

    >>> model_info("hf/llava-hf/llava-1.5-7b-hf@main", {"kind": "hf", "dtype": "float32"})["id"]
    'llava-hf/llava-1.5-7b-hf'
    >>> model_info("recorded/llava-v1.5", {"kind": "recorded"})["id"]
    'unspecified/llava-v1.5'
    """
    kind = str(identity.get("kind") or name.partition("/")[0])
    target = _target(name)
    hub = len([segment for segment in target.split("/") if segment]) == 2 and not target.startswith(
        ("/", ".")
    )
    segments = [segment for segment in target.split("/") if segment] or [name]
    developer, model = (segments[0], segments[1]) if hub else (NO_DEVELOPER, segments[-1])
    settings = {
        key: value for key, value in identity.items() if key not in ("kind", "base_url", "answers")
    }
    info: dict[str, Any] = {
        "name": public_name(name),
        "id": f"{_component(developer)}/{_component(model)}",
        "developer": developer,
        "additional_details": {
            **{key: str(value) for key, value in sorted(settings.items()) if value is not None},
            "deployment_type": _deployment(kind, identity),
            "model_availability": "open_weights" if kind in _ENGINES else "unknown",
        },
    }
    if kind in _ENGINES:
        info["inference_engine"] = {"name": _ENGINES[kind]}
    return info


def public_name(name: str) -> str:
    """A respondent's name without the address of its server, which is nobody else's business.

    >>> public_name("openai/llava@http://10.0.0.7:8000/v1?temperature=0")
    'openai/llava?temperature=0'
    """
    try:
        parsed = RespondentName.parse(name)
    except HQMError:
        return name
    if "://" in parsed.qualifier:
        return str(replace(parsed, qualifier=""))
    return name


def _target(name: str) -> str:
    """Return the model in a respondent's name, without kind, address, revision and settings."""
    try:
        parsed = RespondentName.parse(name)
    except HQMError:
        return name.partition("/")[2] or name
    return parsed.target


def _component(text: str) -> str:
    """Return a name that is a valid folder on every system and not reserved by the schema."""
    clean = _UNSAFE.sub("_", text).strip().rstrip(". ") or NO_DEVELOPER
    is_reserved = clean.lower() in ("unknown", "data") or _RESERVED.fullmatch(clean) is not None
    if is_reserved:
        return f"_{clean}"
    return clean


def _deployment(kind: str, identity: Mapping[str, Any]) -> str:
    if kind in _ENGINES:
        return "self_deployed"
    if kind == "openai":
        is_local = urlsplit(str(identity.get("base_url") or "")).hostname in _LOCAL_HOSTS
        if is_local:
            return "self_deployed"
        return "externally_managed"
    return "unknown"


# ----------------------------------------------------------------------
# Fields of an Every Eval Ever record that follow from one value: texts, references, measurements.
# ----------------------------------------------------------------------


def measurements(detail: Mapping[str, Any]) -> dict[str, Any]:
    """Tokens and time, where both ends were measured."""
    measured: dict[str, Any] = {}
    tokens_in, tokens_out = detail.get("tokens_in"), detail.get("tokens_out")
    if isinstance(tokens_in, int) and isinstance(tokens_out, int):
        measured["token_usage"] = {
            "input_tokens": tokens_in,
            "output_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
        }
    if isinstance(seconds := detail.get("seconds"), (int, float)):
        measured["performance"] = {"latency_ms": 1000 * float(seconds)}
    return measured


def references(target: Any) -> list[str]:
    """Return a target as a list of texts, as the schema wants it."""
    if target is None:
        return []
    if isinstance(target, (list, tuple)):
        return [
            member if isinstance(member, str) else json.dumps(member, ensure_ascii=False)
            for member in target
        ]
    return [target if isinstance(target, str) else json.dumps(target, ensure_ascii=False)]


def as_texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the values that are not empty, as texts."""
    present = {key: value for key, value in values.items() if value is not None and value != ""}
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in present.items()
    }


SCHEMA = "0.3.0"
Relationship = Literal["first_party", "third_party", "collaborative", "other"]

_SHARES = frozenset("accuracy precision recall f1 yes_ratio chair_i chair_s".split())
"""Metrics that lie between 0 and 1 and are no plain mean of rights and wrongs."""
_LEVEL = 0.95
_NO_TEMPLATE = (
    "The benchmark's own procedure writes its questions; no template lies beside its card."
)


@dataclass(frozen=True, slots=True)
class Source:
    """The organization that ran the evaluation, and its relation to the model's maker."""

    organization: str = "not named"
    relationship: Relationship = "other"

    def __post_init__(self) -> None:
        if self.relationship not in get_args(Relationship):
            choices = ", ".join(get_args(Relationship))
            raise UsageError(
                f"there is no relationship {self.relationship!r}", remedy=f"It is one of {choices}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRecord:
    """The pair of files that one administration became."""

    benchmark: str
    respondent: str
    form: str
    run: int
    aggregate: Path
    samples: Path
    answers: int
    unscored: int


def write_evaluations(
    benchmark: Benchmark,
    answers: Answers,
    forms: Sequence[Form],
    respondents: Sequence[StoredRespondent],
    folder: Path,
    *,
    judges: Sequence[Judge] = (),
    source: Source = Source(),
) -> Iterator[EvaluationRecord]:
    """Write a pair of files for every respondent, form and run that the store holds of a benchmark.

    The names of the files follow from who was put what, so that a second export writes over the
    first one.

    Parameters
    ----------
    judges
        The panels that judged, for a benchmark that a model judges; the first one's verdicts are
        the samples' scores.
    """
    pictures: dict[str, str] = {}
    for respondent in respondents:
        for form in forms:
            for run in answers.store.runs(respondent.number):
                if was_administered(answers.asks, benchmark, form, respondent, run):
                    yield _Administration(
                        benchmark, answers, form, run, respondent, judges, source, pictures
                    ).write(folder)


class _Administration:
    """The answers of one respondent to one form in one run, written as a pair of files."""

    def __init__(
        self,
        benchmark: Benchmark,
        answers: Answers,
        form: Form,
        run: int,
        respondent: StoredRespondent,
        judges: Sequence[Judge],
        source: Source,
        pictures: dict[str, str],
    ) -> None:
        self.benchmark, self.form, self.run, self.respondent = benchmark, form, run, respondent
        self.source, self._pictures = source, pictures
        store = answers.store
        self.responses = answers.responses(benchmark, form, respondent, run)
        details = store.details(respondent.number, run)
        numbers = answers.asks.numbers(benchmark, form, respondent.live)
        self.details = [details.get(number, {}) for number in numbers]
        last = store.select(
            "SELECT MAX(time) FROM answers WHERE respondent = ? AND run = ?", respondent.number, run
        )
        self.answered_at = last[0][0] if respondent.live and last else None
        cell = Cell(form.name, run)
        rows = {respondent.name: self.responses}
        matrices: list[tuple[Judge | None, ScoreMatrix]] = [
            (judge, judge.matrix(replace(cell, judge=judge.label), form, rows)) for judge in judges
        ] or [(None, answers.matrix(benchmark, cell, form, [respondent]))]
        # what was not asked is no part of this evaluation, and no item that its interval could
        # count
        item_ids = [
            item.id
            for item, answer in zip(form.items, self.responses, strict=True)
            if answer is not None
        ]
        self.matrices = [
            (judge, matrix.take([respondent.name], item_ids)) for judge, matrix in matrices
        ]
        self.asked = item_ids
        self.model = model_info(respondent.name, respondent.identity)
        key = digest(
            [
                benchmark.label,
                benchmark.scorer,
                respondent.name,
                dict(respondent.identity),
                form.name,
                run,
            ]
        )
        self.uuid = uuid.UUID(bytes=hashlib.sha256(key.encode()).digest()[:16], version=4)
        self.now = str(int(time.time()))
        short = str(self.uuid)[:8]
        self.id = f"{benchmark.name}.{form.name}.run{run}.{short}/{self.model['id']}/{self.now}"
        self.of_items = self._metric_of_items()

    def write(self, folder: Path) -> EvaluationRecord:
        record_folder = Path("data", self.benchmark.name, self.model["id"])
        samples, aggregate = (
            record_folder / f"{self.uuid}_samples.jsonl",
            record_folder / f"{self.uuid}.json",
        )
        rows = list(self._rows())
        lines = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
        write_text(folder / samples, lines)
        record = {
            **self._aggregate(),
            "detailed_evaluation_results": {
                "format": "jsonl",
                "file_path": samples.as_posix(),
                "hash_algorithm": "sha256",
                "checksum": sha256_file(folder / samples),
                "total_rows": len(rows),
            },
        }
        text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
        write_text(folder / aggregate, text + "\n")
        return EvaluationRecord(
            benchmark=self.benchmark.name,
            respondent=self.respondent.name,
            form=self.form.name,
            run=self.run,
            aggregate=folder / aggregate,
            samples=folder / samples,
            answers=len(rows),
            unscored=sum(row["metadata"]["scored"] == "false" for row in rows),
        )

    # --- the aggregate ---

    def _aggregate(self) -> dict[str, Any]:
        card = self.benchmark.card
        record: dict[str, Any] = {
            "schema_version": SCHEMA,
            "evaluation_id": self.id,
            "retrieved_timestamp": self.now,
            "source_metadata": {
                "source_name": card.title,
                "source_type": "evaluation_run",
                "source_organization_name": self.source.organization,
                "evaluator_relationship": self.source.relationship,
            },
            "eval_library": {
                "name": "hqm-audit",
                "version": __version__,
                "additional_details": as_texts(
                    {"scorer": self.benchmark.scorer, "scoring": self.benchmark.scoring}
                ),
            },
            "model_info": self.model,
            "evaluation_results": [
                self._result(metric, judge, matrix)
                for judge, matrix in self.matrices
                for metric in self.benchmark.metrics
                if (not metric.subset or metric.subset in matrix.subsets)
                and np.isfinite(matrix.score(metric)[0])
            ],
        }
        if self.answered_at is not None:
            record["evaluation_timestamp"] = str(int(self.answered_at))
        return record

    def _result(self, metric: Metric, judge: Judge | None, matrix: ScoreMatrix) -> dict[str, Any]:
        result: dict[str, Any] = {
            "evaluation_result_id": self._result_id(metric, judge),
            "evaluation_name": self.benchmark.name,
            "source_data": self._source_data(),
            "metric_config": self._metric(metric, judge),
            "score_details": {
                "score": float(matrix.score(metric)[0]),
                "details": self._score_details(metric, matrix),
                "uncertainty": self._uncertainty(metric, matrix),
            },
        }
        if generation := self._generation():
            result["generation_config"] = generation
        return result

    def _result_id(self, metric: Metric, judge: Judge | None) -> str:
        if judge:
            return f"{_panel(judge)}:{metric.name}"
        return metric.name

    def _metric(self, metric: Metric, judge: Judge | None) -> dict[str, Any]:
        base = metric.name.rpartition(".")[2]
        share = metric.share or base in _SHARES
        config: dict[str, Any] = {
            "evaluation_description": metric.about or metric.name,
            "metric_id": (
                metric.name
                if metric.name in ("accuracy", "f1")
                else f"{self.benchmark.name}.{metric.name}"
            ),
            "metric_name": metric.name,
            "metric_kind": base,
            "lower_is_better": metric.better == "lower",
            "score_type": "continuous",
            "min_score": 0.0 if share else "-Infinity",
            "max_score": 1.0 if share else "Infinity",
            "additional_details": as_texts(
                {"better": metric.better, "subset": metric.subset, "group": metric.group}
            ),
        }
        if share:
            config["metric_unit"] = "proportion"
        if judge is not None:
            config["llm_scoring"] = self._judged(judge)
        return config

    def _judged(self, judge: Judge) -> dict[str, Any]:
        if isinstance(judge, FileJudge):
            judges = [{"model_info": model_info(judge.label, {})}]
            details = as_texts({"judgements": "files"})
            return {"judges": judges, "input_prompt": _NO_TEMPLATE, "additional_details": details}
        role_models = {
            respondent.name: respondent for respondent in judge.panel.role_models.values()
        }
        members = [
            judge.panel.main,
            *(r for name, r in role_models.items() if name != judge.panel.main.name),
        ]
        roles = {
            role: public_name(respondent.name)
            for role, respondent in judge.panel.role_models.items()
        }
        infos = [
            (model_info(member.name, judge.identity(member)), judge.sampling(member))
            for member in members
        ]
        return {
            "judges": [
                {"model_info": info, "temperature": sampling.temperature}
                for info, sampling in infos
            ],
            "input_prompt": (
                "\n\n".join(f"[{name}]\n{text}" for name, text in self._prompts().items())
                or _NO_TEMPLATE
            ),
            "additional_details": as_texts(
                {
                    "mode": self.benchmark.mode,
                    "prompts": self.benchmark.prompts,
                    **{f"role.{r}": n for r, n in roles.items()},
                }
            ),
        }

    def _prompts(self) -> dict[str, str]:
        """Return the judge's prompt templates by name, as far as they can be read."""
        texts = {}
        for name in self.benchmark.prompt_names:
            try:
                texts[name] = self.benchmark.prompt(name)
            except HQMError:
                continue
        return texts

    def _score_details(self, metric: Metric, matrix: ScoreMatrix) -> dict[str, str]:
        states = matrix.state_counts()[self.respondent.name]
        counts = {f"state.{state}": count for state, count in states.items() if count}
        details = {
            "form": self.form.name,
            "run": self.run,
            "unscored": matrix.unscored(metric),
            **counts,
        }
        if metric.rounds:
            details["printed"] = float(matrix.printed(metric)[0])
        return as_texts(details)

    def _uncertainty(self, metric: Metric, matrix: ScoreMatrix) -> dict[str, Any]:
        units = matrix.units(metric)
        tallies = {key: values[0] for key, values in units.tallies.items()}
        value = partial(metric_of, metric)
        bounds = jackknife_interval(
            tallies, units.clusters, value, is_proportion=metric.share, level=_LEVEL
        )
        plain = jackknife_interval(tallies, units.clusters, value, level=_LEVEL)
        uncertainty: dict[str, Any] = {"num_samples": int(units.scored[0].sum())}
        error = (plain.high - plain.low) / 2 / NormalDist().inv_cdf((1 + _LEVEL) / 2)
        # where no picture's absence moves the score, the jackknife has no error to give
        if error > 0:
            uncertainty["standard_error"] = {
                "value": float(error),
                "method": "jackknife, one picture left out at a time",
            }
        if np.isfinite([bounds.low, bounds.high]).all() and (error > 0 or metric.share):
            uncertainty["confidence_interval"] = {
                "lower": float(bounds.low),
                "upper": float(bounds.high),
                "confidence_level": _LEVEL,
                "method": bounds.method,
            }
        if metric is self.of_items and units.scored[0].sum() > 1:
            uncertainty["standard_deviation"] = float(np.nanstd(matrix.values[0], ddof=1))
        return uncertainty

    def _source_data(self) -> dict[str, Any]:
        card = self.benchmark.card
        details = {
            "version": card.version,
            "licence": card.licence,
            "form": self.form.name,
            "form_digest": self.form.digest,
            "items": len(self.asked),
            "items_of_form": len(self.form),
        }
        data: dict[str, Any] = {"dataset_name": card.title, "additional_details": as_texts(details)}
        hub = re.match(r"hf://datasets/([^/]+/[^/@]+)", card.data.folder)
        if hub:
            return {**data, "source_type": "hf_dataset", "hf_repo": hub[1]}
        if card.url:
            return {**data, "source_type": "url", "url": [card.url]}
        return {**data, "source_type": "other"}

    def _generation(self) -> dict[str, Any]:
        identity = self.respondent.identity
        generation_args = {
            key: identity[key] for key in ("temperature", "top_p", "max_tokens") if key in identity
        }
        if not generation_args:
            return {}
        prompt = self.benchmark.card.prompt
        generation_args["prompt_template"] = f"{prompt.prefix}{{question}}{prompt.suffix}"
        return {
            "generation_args": generation_args,
            "additional_details": as_texts({"seed": identity.get("seed"), "run": self.run}),
        }

    def _metric_of_items(self) -> Metric | None:
        """Return the metric that is the mean of the items' scores."""
        _, matrix = self.matrices[0]
        if matrix.scored.any():
            mean = float(np.nanmean(matrix.values[0]))
        else:
            mean = np.nan
        unrestricted = [m for m in self.benchmark.metrics if not m.subset and not m.group]
        return next(
            (m for m in unrestricted if np.isclose(matrix.score(m)[0], mean, atol=1e-12)), None
        )

    # --- the samples ---

    def _rows(self) -> Iterator[dict[str, Any]]:
        judge, matrix = self.matrices[0]
        answered = [
            (r, d) for r, d in zip(self.responses, self.details, strict=True) if r is not None
        ]
        for i, (item, (response, detail)) in enumerate(zip(matrix.items, answered, strict=True)):
            yield self._row(
                item,
                response,
                float(matrix.values[0, i]),
                STATES[matrix.states[0, i]],
                judge,
                detail,
            )

    def _row(
        self,
        item: Item,
        response: Response,
        value: float,
        state: str,
        judge: Judge | None,
        detail: Mapping[str, Any],
    ) -> dict[str, Any]:
        scored = bool(np.isfinite(value))
        verdict = self.benchmark.no_answer(response) or (
            Verdict(None) if judge else self.benchmark.verdict(item, response)
        )
        reference = references(item.target)
        row: dict[str, Any] = {
            "schema_version": SCHEMA,
            "evaluation_id": self.id,
            "model_id": self.model["id"],
            "evaluation_name": self.benchmark.name,
            "sample_id": item.id,
            "sample_hash": (
                hashlib.sha256((item.prompt + "".join(reference)).encode("utf-8")).hexdigest()
            ),
            "interaction_type": "single_turn",
            "input": {
                "raw": item.prompt,
                "formatted": self.benchmark.question_text(item),
                "reference": reference,
            },
            "output": {"raw": [response.text]},
            "answer_attribution": [],
            "evaluation": {
                "score": value if scored else 0.0,
                "is_correct": scored and value >= 1.0,
            },
            "metadata": as_texts(
                {
                    "respondent": public_name(self.respondent.name),
                    "form": self.form.name,
                    "run": self.run,
                    "state": state,
                    "scored": scored,
                    "reason": response.reason or verdict.reason,
                    "part": item.part,
                    "type": item.type,
                    "image": item.image,
                    "image_sha256": self._sha256(item.image),
                    "cluster": item.cluster,
                    "judge": _panel(judge) if judge else None,
                }
            ),
        }
        if self.of_items is not None:
            row["evaluation_result_id"] = self._result_id(self.of_items, judge)
        if item.options:
            row["input"]["choices"] = list(item.options)
        if scored:
            read, method = (
                (verdict.read, self.benchmark.scorer)
                if judge is None
                else (response.text, "llm_judge")
            )
            row["answer_attribution"] = [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": read,
                    "extraction_method": method,
                    "is_terminal": True,
                }
            ]
        else:
            row["error"] = f"not scored, the answer is {state}" + (
                f": {reason}" if (reason := response.reason or verdict.reason) else ""
            )
        return {**row, **measurements(detail)}

    def _sha256(self, image: str | None) -> str:
        """Return the hash of a picture's bytes; empty if the file is missing."""
        if image is None:
            return ""
        if image not in self._pictures:
            try:
                self._pictures[image] = sha256_file(self.benchmark.pictures.path(image))
            except HQMError:
                self._pictures[image] = ""
        return self._pictures[image]


def _panel(judge: Judge) -> str:
    if isinstance(judge, FileJudge):
        return public_name(judge.label)
    role_models = sorted(judge.panel.role_models.items())
    return public_name(judge.panel.main.name) + "".join(
        f"+{role}={public_name(model.name)}" for role, model in role_models
    )
