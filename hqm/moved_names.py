"""Names and attributes that were public until version 0.2.0, and where they are now.

They are found until 0.4.0, with a `DeprecationWarning`.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")

MOVED_NAMES = {
    "Ask": "hqm.store.database:Ask",
    "Assignment": "hqm.administration.asks:Assignment",
    "BudgetRow": "hqm.auditing.budget:BudgetRow",
    "CHAIR": "hqm.scoring.metrics:CHAIR",
    "CODES": "hqm.lint:CODES",
    "ConfidenceSequence": "hqm_study.confidence_sequences:ConfidenceSequence",
    "Difference": "hqm.comparison.measures:Difference",
    "ERROR_OPTIONS": "hqm.auditing.budget:ERROR_OPTIONS",
    "ForecastPair": "hqm.comparison.measures:ForecastPair",
    "Gap": "hqm.auditing.budget:Gap",
    "INDICATORS": "hqm.indicators.indicator:INDICATORS",
    "INDICATOR_FAMILIES": "hqm.indicators.indicator:INDICATOR_FAMILIES",
    "InTurn": "hqm.benchmark.released_files:ItemQueue",
    "Indicator": "hqm.indicators.indicator:Indicator",
    "ItemAnswers": "hqm.imports.recordings:ItemAnswers",
    "ItemQueue": "hqm.benchmark.released_files:ItemQueue",
    "Job": "hqm.administration.asks:Job",
    "JudgeOutput": "hqm.imports.row:JudgeOutput",
    "Judging": "hqm.judges.judge_models:Judging",
    "LETTERS": "hqm.types:LETTERS",
    "LabelContext": "hqm.imports.human_labels:LabelContext",
    "LeftOut": "hqm.types:LeftOut",
    "MEASURABLE": "hqm.auditing.definitions:MEASURABLE",
    "Measure": "hqm.comparison.measures:Measure",
    "Mend": "hqm.auditing.budget:Remedy",
    "Noun": "hqm.scoring.words.interfaces:Noun",
    "Outcome": "hqm.administration.administering:Outcome",
    "PARSERS": "hqm.scoring.parsers:PARSERS",
    "PairDecision": "hqm_study.confidence_sequences:PairDecision",
    "Panel": "hqm.judges.procedure:Panel",
    "Parser": "hqm.scoring.parsers:Parser",
    "Part": "hqm.benchmark.judge_api:AnswerPart",
    "Plan": "hqm.commands.run_plan:Plan",
    "PlannedStudy": "hqm_study.design_space:PlannedStudy",
    "PriceList": "hqm.comparison.prices:PriceList",
    "ROLES": "hqm.imports.row:ROLES",
    "Recipe": "hqm.scoring.words.interfaces:Recipe",
    "Remedy": "hqm.auditing.budget:Remedy",
    "Replies": "hqm.imports.row:Replies",
    "RespondentScores": "hqm.auditing.audit:RespondentScores",
    "Row": "hqm.imports.row:Row",
    "RunResult": "hqm.commands.in_python:RunResult",
    "STATES": "hqm.types:STATES",
    "SevenAnswers": "hqm.auditing.seven_questions:SevenAnswers",
    "Shortened": "hqm_study:Shortened",
    "Shortening": "hqm_study.shortening:Shortening",
    "StoppedRun": "hqm_study.stopping:StoppedRun",
    "StoppingRule": "hqm_study.stopping:StoppingRule",
    "StoredRespondent": "hqm.administration.asks:StoredRespondent",
    "StudyDesign": "hqm_study:StudyDesign",
    "TypeMeasured": "hqm.auditing.definitions:TypeMeasured",
    "Words": "hqm.scoring.words.interfaces:Words",
    "YES_NO": "hqm.scoring.metrics:YES_NO",
    "advice_on_cut": "hqm.scoring.rules:advice_on_cut",
    "all_indicators": "hqm.indicators.indicator:all_indicators",
    "answer_text": "hqm.imports.row:answer_text",
    "answered_in_part": "hqm.auditing.definitions:answered_in_part",
    "answers_by_id": "hqm.benchmark.released_files:answers_by_id",
    "ask": "hqm.store.database:ask",
    "audit_readings": "hqm.commands.rescoring:audit_readings",
    "by_people": "hqm.imports.human_labels:by_people",
    "chair_tally": "hqm.scoring.metrics:chair_tally",
    "check_against": "hqm.auditing.gate:check_against",
    "check_form": "hqm.benchmark.findings:check_form",
    "check_questions": "hqm.imports.match:check_questions",
    "check_rows": "hqm.imports.match:check_rows",
    "common_words": "hqm.scoring.rules:common_words",
    "compare_audits": "hqm.comparison.compare:compare_audits",
    "confidence_sequence": "hqm_study.confidence_sequences:confidence_sequence",
    "contradict": "hqm.imports.match:contradict",
    "contradictory_keys": "hqm.auditing.definitions:contradictory_keys",
    "coverage": "hqm.indicators.item_coverage:coverage",
    "design": "hqm_study:design",
    "design_of_scores": "hqm_study:design_of_scores",
    "digest": "hqm.signature:digest",
    "fill": "hqm.benchmark.judge_api:fill",
    "find_remedies": "hqm.auditing.seven_questions:find_remedies",
    "find_words": "hqm.scoring.words.parts:find_words",
    "findings_counted": "hqm.auditing.definitions:findings_counted",
    "findings_in_order": "hqm.auditing.definitions:findings_in_order",
    "hold_against": "hqm.auditing.gate:check_against",
    "join_by_picture": "hqm.imports.match:join_by_picture",
    "join_once": "hqm.imports.match:join_once",
    "json_parts": "hqm.files.archives:json_values",
    "json_values": "hqm.files.archives:json_values",
    "labelled_by": "hqm.imports.human_labels:labelled_by",
    "leaks_shown": "hqm.auditing.definitions:leaks_shown",
    "load_all": "hqm.benchmark.registry:load_all",
    "located_records": "hqm.files.records:located_records",
    "made_up_objects": "hqm.benchmark.analyses:made_up_objects",
    "make_respondent": "hqm.respondents:make_respondent",
    "measures_of": "hqm.comparison.measures:measures_of",
    "mentioned": "hqm.scoring.metrics:mentioned",
    "more_items": "hqm.auditing.seven_questions:more_items",
    "name_placeholders": "hqm.benchmark.released_files:name_placeholders",
    "name_places": "hqm.benchmark.released_files:name_placeholders",
    "normalised": "hqm.imports.match:normalised",
    "of_parts": "hqm.imports.match:of_parts",
    "parse_value": "hqm.files.records:parse_value",
    "parser": "hqm.scoring.parsers:parser",
    "parts_in": "hqm.auditing.study_records:read_components",
    "placed_records": "hqm.files.records:located_records",
    "pyarrow_library": "hqm.files.parquet:pyarrow_library",
    "read_again": "hqm.commands.rescoring:audit_readings",
    "read_choice": "hqm.scoring.choices:read_choice",
    "read_components": "hqm.auditing.study_records:read_components",
    "read_json": "hqm.files.records:read_json",
    "read_key": "hqm.benchmark.corrected_keys:read_key",
    "read_list": "hqm.scoring.list_answers:read_list",
    "read_number": "hqm.scoring.short_answers:read_number",
    "read_polar": "hqm.scoring.polar_answers:read_polar",
    "read_prices": "hqm.comparison.prices:read_prices",
    "read_replies": "hqm.benchmark.judge_api:read_replies",
    "read_text": "hqm.files.records:read_text",
    "released_file": "hqm.benchmark.released_files:released_file",
    "required_field": "hqm.files.records:required_field",
    "respondents_in": "hqm.administration.stored_answers:respondents_in",
    "reword": "hqm.forms.rephrase:reword",
    "reword_item": "hqm.forms.make_forms:reword_item",
    "rouge_l": "hqm.scoring.rules:rouge_l",
    "rounded": "hqm.scoring.metrics:rounded",
    "same_question": "hqm.benchmark.items:same_question",
    "scored_answers": "hqm.auditing.definitions:scored_answers",
    "separated_pairs": "hqm_study.confidence_sequences:separated_pairs",
    "settle": "hqm.scoring.rules:settle",
    "seven_answers": "hqm.auditing.seven_questions:seven_answers",
    "short_signature": "hqm.signature:short_signature",
    "shorten": "hqm_study:shorten",
    "shorten_answers": "hqm_study.shortening:shorten_answers",
    "take": "hqm.files.records:required_field",
    "template_in": "hqm.judges.procedure:template_in",
    "texts_in": "hqm.benchmark.released_files:texts_in",
    "to_mend": "hqm.auditing.seven_questions:find_remedies",
    "types_measured": "hqm.auditing.definitions:types_measured",
    "unscored": "hqm.scoring.rules:unscored",
    "verdicts": "hqm.judges.procedure:verdicts",
    "who_labelled": "hqm.auditing.definitions:who_labelled",
    "with_questions_beside": "hqm.imports.match:with_questions_beside",
    "withheld": "hqm.scoring.rules:withheld",
    "words_of": "hqm.scoring.rules:words_of",
    "wrong_keys": "hqm.auditing.definitions:wrong_keys",
    "yes_no_tally": "hqm.scoring.metrics:yes_no_tally",
}
"""Name that `hqm` exported -> module and name of today."""


RENAMED_ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    "Adapter": {
        "asked": "question_text",
        "beside": "context_items",
        "brought": "included_recordings",
        "with_beside": "with_context",
    },
    "Form": {"only": "select_part"},
    "ScoreMatrix": {"places": "column_by_id"},
    "Statement": {"ties": "order"},
    "Store": {
        "administered": "record_administration",
        "not_whole": "mark_administrations_missing",
        "whole": "has_all_administrations",
    },
}
"""Class -> attribute of version 0.2.0 -> attribute of today. `BenchmarkAudit` is not among them:
its `items`, `estimates` and `pairs` became frames, and their values stand under other names.
"""


class RenamedAttributes:
    """A class whose attributes are found by their names in version 0.2.0, with a warning; what a
    subclass defines under such a name is taken for the attribute of today.
    """

    __slots__ = ()

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        for name, current_name in _renamed_attributes(cls).items():
            if name in vars(cls):
                _warn_of_renaming(f"{cls.__name__}.{name}", current_name)
                setattr(cls, current_name, vars(cls)[name])

    if not TYPE_CHECKING:  # a type checker would take every attribute for one that exists

        def __getattr__(self, name: str) -> object:
            current_name = _renamed_attributes(type(self)).get(name)
            if current_name is None:
                # A property that raised an AttributeError leads here too: its own message counts.
                return object.__getattribute__(self, name)
            _warn_of_renaming(f"{type(self).__name__}.{name}", current_name)
            return getattr(self, current_name)


def _renamed_attributes(kind: type) -> dict[str, str]:
    """Return the attributes of version 0.2.0 that a class has under other names."""
    names: dict[str, str] = {}
    # Subclasses of other packages have the attributes of their bases.
    for base in kind.__mro__:
        names |= RENAMED_ATTRIBUTES.get(base.__name__, {})
    return names


def with_renamed_keywords(
    **renamed: str,
) -> Callable[[Callable[Parameters, Value]], Callable[Parameters, Value]]:
    """Let a function take keywords by their names in version 0.2.0, with a warning."""

    def decorate(function: Callable[Parameters, Value]) -> Callable[Parameters, Value]:
        @functools.wraps(function)
        def wrapped(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Value:
            for name in renamed.keys() & keywords:
                _warn_of_renaming(f"The keyword {name}", renamed[name])
                keywords[renamed[name]] = keywords.pop(name)
            return function(*arguments, **keywords)

        return wrapped

    return decorate


def _warn_of_renaming(name: str, current_name: str) -> None:
    """Warn whoever uses the name: the caller of the function that calls this one."""
    warnings.warn(
        f"{name} is {current_name} since 0.3.0; the old name goes in 0.4.0",
        DeprecationWarning,
        stacklevel=3,
    )


def find_moved(package: str, name: str, moved_names: Mapping[str, str]) -> object:
    """Return the value of a name that moved, and warn.

    Raises
    ------
    AttributeError
        No version had this name.
    """
    if name not in moved_names:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module, _, current_name = moved_names[name].partition(":")
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        extension = module.partition(".")[0]
        # A library that the extension itself lacks is another matter.
        if error.name != extension:
            raise
        raise AttributeError(
            f"{package}.{name} is {module}.{current_name} since 0.3.0, in an extension that is not"
            " installed. Install it from a checkout of HQM: pip install"
            f" ./extensions/{extension.replace('_', '-')}"
        ) from None
    warnings.warn(
        f"{package}.{name} is {module}.{current_name} since 0.3.0; the old name goes in 0.4.0",
        DeprecationWarning,
        stacklevel=3,
    )
    return getattr(loaded, current_name)
