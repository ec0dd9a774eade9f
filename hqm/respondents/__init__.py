"""Whatever answers: local models, servers, recorded files."""

from __future__ import annotations

from hqm.respondents.base import Respondent, RespondentName


def make_respondent(text: str, *, device: str = "auto", dtype: str = "auto", batch: int = 0) -> Respondent:
    """The live respondent that a name stands for; nothing is loaded before it is asked."""
    name = RespondentName.parse(text)
    if name.kind == "hf":
        from hqm.respondents.transformers import TransformersRespondent

        return TransformersRespondent(name, device=device, dtype=dtype, batch=batch)
    from hqm.respondents.openai import OpenAIRespondent

    return OpenAIRespondent(name)
