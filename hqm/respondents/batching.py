"""Which requests run together: one kind of sampling a batch, all questions about a picture side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hqm.respondents.base import Request


def batches(requests: Sequence[Request], size: Callable[[int], int]) -> Iterator[list[Request]]:
    """Cut requests into batches.

    A batch ends between two pictures where it can: a picture whose questions stand in two batches is seen twice. Within a
    picture the questions come in the order of their lengths.

    Parameters
    ----------
    requests
        In any order.
    size
        The most requests a batch may hold, by the longest answer; asked anew for every batch.

    Examples
    --------
    >>> from pathlib import Path
    >>> from hqm.respondents.base import Sampling
    >>> asked = [Request("?" * n, Path(f"{picture}.png"), Sampling(), 0) for picture in "aabbbc" for n in (1,)]
    >>> [[str(r.image) for r in batch] for batch in batches(asked, lambda _: 4)]
    [['a.png', 'a.png'], ['b.png', 'b.png', 'b.png', 'c.png']]
    """
    ordered = sorted(requests, key=lambda r: (*_kind(r), str(r.image or ""), len(r.prompt), r.prompt))
    start = 0
    while start < len(ordered):
        first = ordered[start]
        most = max(1, size(first.sampling.max_tokens))
        end = start + 1
        while end < min(start + most, len(ordered)) and _kind(ordered[end]) == _kind(first):
            end += 1
        cut = end
        while start < cut < len(ordered) and ordered[cut].image == ordered[cut - 1].image and first.image:
            cut -= 1
            if cut == start:  # one picture fills the batch
                cut = end
                break
        yield ordered[start:cut]
        start = cut


def _kind(request: Request) -> tuple[int, float, float, bool]:
    sampling = request.sampling
    return sampling.max_tokens, sampling.temperature, sampling.top_p, request.image is None


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on whatever device.

    >>> is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."))
    True
    >>> is_out_of_memory(RuntimeError("shapes do not match"))
    False
    """
    import torch

    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    text = str(error).lower()
    return "out of memory" in text or "can't allocate memory" in text or "not enough memory" in text
