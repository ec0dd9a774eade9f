"""Whatever answers: local models, servers, recorded files."""

from __future__ import annotations

from hqm.respondents.base import Respondent, RespondentName


def make_respondent(
    text: str, *, device: str = "auto", dtype: str = "auto", batch: int = 0, vllm: str = ""
) -> Respondent:
    """The live respondent that a name stands for; nothing is loaded before it is asked.

    `vllm` is the program or the environment that serves `vllm/<model>`.
    """
    name = RespondentName.parse(text)
    if name.kind == "hf":
        from hqm.respondents.transformers import TransformersRespondent

        return TransformersRespondent(name, device=device, dtype=dtype, batch=batch)
    if name.kind == "vllm":
        from hqm.respondents.vllm import VllmRespondent

        return VllmRespondent(name, program=vllm, device=device, dtype=dtype)
    from hqm.respondents.openai import OpenAIRespondent

    return OpenAIRespondent(name)
