"""The stages of a judge against people: does the recognizer mark as people do, and does the
verifier confirm what they confirm?
"""

from __future__ import annotations

from typing import Any

from hqm.indicators.cases import Case
from hqm.indicators.indicator import (
    SHARE,
    STAGES,
    Indicator,
    Result,
    need,
    result,
)
from hqm.labels.people_labels import StageEvidence
from hqm.psychometrics import Coefficient, StageAgreement, stage_agreement
from hqm.types import finite


def _stage(case: Case) -> StageEvidence:
    if case.stage is None:
        raise LookupError("the case has no stage")
    return case.stage


def _study(case: Case) -> StageAgreement:
    stage = _stage(case)
    return stage_agreement(stage.judge, stage.human, stage.clusters, stage.weights)


def _decided(case: Case) -> bool:
    return case.once(_study).n > 0


def _why_not(case: Case) -> str:
    stage = _stage(case)
    if stage.not_asked == len(stage.human):
        return (
            f"the {stage.role} was asked about none of the {stage.not_asked:,} {stage.unit}s that"
            " people labelled; `--set levels=stage` asks it"
        )
    return f"the {stage.role} and people decided no {stage.unit} both"


def _said(case: Case, value: Coefficient, **more: Any) -> Result:
    stage, study = _stage(case), case.once(_study)
    return result(
        value,
        stage=stage.role,
        unit=stage.unit,
        yes=stage.yes,
        no=stage.no,
        labelled=len(stage.human),
        units=study.n,
        not_asked=stage.not_asked,
        unread=stage.unread,
        unresolved=stage.unresolved,
        **more,
    )


def _agreement(case: Case) -> Result:
    study = case.once(_study)
    table = {
        "both_yes": study.both,
        "judge_only": study.judge_only,
        "people_only": study.people_only,
        "both_no": study.neither,
    }
    return _said(
        case, study.agreement, table={name: finite(value) for name, value in table.items()}
    )


def _of(name: str, title: str, meaning: str) -> Indicator:
    def compute(case: Case) -> Result:
        study = case.once(_study)
        value: Coefficient = getattr(study, name)
        other: Coefficient = getattr(study, f"{name}_no")
        ends = other.fixed
        of_no = {
            "value": finite(other.value),
            "low": finite(ends.low) if ends else None,
            "high": finite(ends.high) if ends else None,
        }
        return _said(case, value, of_no=of_no)

    return Indicator(
        name=name,
        unit=SHARE,
        title=title,
        family=(STAGES,),
        meaning=meaning,
        compute=compute,
        explains=(stage_agreement,),
        needs=_NEEDS,
        headline=(STAGES,) if name == "f1" else (),
    )


_NEEDS = (
    need("a stage that people labelled", lambda case: case.stage is not None),
    need("decisions of judge and people on the same units", _decided, _why_not, "insufficient"),
)

indicators = (
    Indicator(
        name="decided_alike",
        unit=SHARE,
        title="share decided as people do",
        family=(STAGES,),
        compute=_agreement,
        explains=(stage_agreement,),
        meaning=(
            "Of the sub-sentences or facts that people labelled, the share that the stage decides"
            " as they do; papers call it accuracy."
        ),
        needs=_NEEDS,
        headline=(STAGES,),
    ),
    _of(
        "precision",
        "precision",
        "Of what the stage says yes to (descriptive, holds), the share to which people say yes; of"
        " no in the detail.",
    ),
    _of(
        "recall",
        "recall",
        "Of what people say yes to (descriptive, holds), the share to which the stage says yes; of"
        " no in the detail.",
    ),
    _of(
        "f1",
        "F1",
        "Harmonic mean of the stage's precision and recall against people; of no in the detail.",
    ),
)
