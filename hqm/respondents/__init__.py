"""Respondents: local models, servers, recorded files, and those of other packages."""

from __future__ import annotations

import inspect

from hqm.errors import UsageError
from hqm.respondents.base import Respondent, RespondentName
from hqm.respondents.kinds import kind_of, unknown


def make_respondent(
    text: str,
    *,
    device: str = "auto",
    dtype: str = "auto",
    batch: int = 0,
    vllm: str = "",
    concurrency: int = 0,
    batch_api: bool = False,
) -> Respondent:
    """The live respondent that a name stands for; nothing is loaded before it is asked.

    Parameters
    ----------
    text
        A name of one of the kinds in `hqm.respondents.kinds`.
    device, dtype, batch, vllm, concurrency, batch_api
        Settings of this machine; a kind of respondent gets those that its class takes. `vllm` is
        the program, or the environment it is installed in, that serves `vllm/<model>`.

    Raises
    ------
    UsageError
        There is no such kind, or it is not asked (`recorded/`).
    RespondentError
        What its kind needs is not installed.
    """
    name = RespondentName.parse(text)
    kind = kind_of(name.kind)
    if kind is None:
        raise unknown(text)
    if not kind.live:
        raise UsageError(
            f"{text!r} is recorded, and cannot be asked",
            remedy="Recorded answers are read by `hqm audit NAME --recorded FILE`.",
        )
    respondent_class = kind.load()
    settings: dict[str, object] = {
        "device": device,
        "dtype": dtype,
        "batch": batch,
        "vllm": vllm,
        "concurrency": concurrency,
        "batch_api": batch_api,
    }
    parameters = inspect.signature(respondent_class).parameters
    respondent: Respondent = respondent_class(
        name, **{key: value for key, value in settings.items() if key in parameters}
    )
    return respondent
