"""Parts of decoding by themselves: the order of requests, splits by picture, and what is refused."""

from types import SimpleNamespace
from typing import Any

import pytest

from hqm.respondents.base import Request, Sampling
from tests.conftest import needs_torch

pytestmark = needs_torch


def stub(kind: type, **fields: Any) -> Any:
    """An object of a class without what its constructor loads."""
    made = object.__new__(kind)
    vars(made).update(fields)
    return made


@pytest.mark.parametrize(
    ("lengths", "ordered"),
    [((3, 1, 4, 2, 5), [5, 1, 4, 3, 2]), ((1, 2), [2, 1]), ((1,), [1]), ((2, 2, 1), [2, 1, 2])],
)
def test_the_longest_and_the_shortest_question_come_first_and_none_is_lost(
    lengths: tuple[int, ...], ordered: list[int]
) -> None:
    from hqm.respondents.decoding import Engine

    reader = SimpleNamespace(lengths=lambda asked: [(len(request.prompt),) for request in asked])
    engine = stub(Engine, policy=SimpleNamespace(), reader=reader)
    requests = [Request("x" * length, None, Sampling(), 0) for length in lengths]
    assert [len(request.prompt) for request in engine.ordered(requests)] == ordered


def test_outputs_of_several_pictures_come_apart() -> None:
    import torch

    from hqm.respondents.vision_cache import CannotSplit, _split_by_picture

    rows = torch.arange(6).reshape(3, 2)
    for output, of_picture in (
        (rows, lambda split: split),
        ((rows, None), lambda split: split[0]),
        ({"a": rows}, lambda split: split["a"]),
    ):
        first, second = _split_by_picture(output, [1, 2])
        assert of_picture(first).tolist() == [[0, 1]]
        assert of_picture(second).tolist() == [[2, 3], [4, 5]]
    with pytest.raises(CannotSplit):
        _split_by_picture(rows, [1, 1])


def test_the_memory_of_a_model_of_one_layer_has_its_length() -> None:
    import torch

    from hqm.respondents.kv_cache import KeyValueBuffers
    from hqm.respondents.step_graph import StepGraphs

    layer = torch.zeros(2, 1, 7, 4)
    graphs = stub(StepGraphs)
    assert KeyValueBuffers([(layer, layer)], 0, graphs).capacity == 7


def test_a_prompt_is_split_before_a_tail_that_it_ends_with() -> None:
    import torch

    from hqm.respondents.hf_inputs import CannotSplit, Reader

    reader = stub(Reader, _sound=set())
    prompt = SimpleNamespace(picture_key="a.png")
    kinds = {"token_type_ids": torch.tensor([[0, 0, 1, 0, 0]])}
    encoded = reader._split_tokens(prompt, (1,), [4, 5], [1, 2, 3, 4, 5], kinds, {})
    assert encoded.prefix == (1, 2, 3)
    assert encoded.kinds["token_type_ids"].tolist() == [[0, 0, 1]]
    assert reader._sound == {4}
    for tail in ([5, 4], []):
        with pytest.raises(CannotSplit):
            reader._split_tokens(prompt, (1,), tail, [1, 2, 3, 4, 5], kinds, {})


@pytest.mark.parametrize(("number", "mark"), [(7, 7), (0, 9)])
def test_a_picture_is_marked_by_the_processors_token_or_by_the_models(
    number: int, mark: int
) -> None:
    from hqm.respondents.hf_inputs import Reader

    tokenizer = SimpleNamespace(convert_tokens_to_ids=lambda _: number, unk_token_id=0)
    config = SimpleNamespace(image_token_id=9)
    reader = stub(
        Reader,
        processor=SimpleNamespace(image_token="<image>"),
        tokenizer=tokenizer,
        model=SimpleNamespace(config=config),
    )
    assert reader.mark() == mark


@pytest.mark.parametrize("has_picture", [True, False])
def test_a_model_that_answers_nothing_is_left_out_of_blind_questions_alone(
    has_picture: bool,
) -> None:
    from hqm.respondents.sharing import SharingCheck

    policy = SimpleNamespace(name="m", sharing="nothing", reason="", report=lambda _: None)
    check = stub(SharingCheck, policy=policy, plain=SimpleNamespace(one_at_a_time=False))
    assert ("--blind" in check._no_answer("it fails", has_picture).remedy) == (not has_picture)


@pytest.mark.parametrize(("moved", "agrees"), [(0.09, True), (0.11, False), (float("nan"), False)])
def test_in_half_precision_less_than_a_tenth_of_the_mass_may_move(
    moved: float, agrees: bool
) -> None:
    import torch

    from hqm.respondents.sharing import SharingCheck

    def trial(first: float) -> Any:
        watched = {0: torch.tensor([first, 1 - first])}
        return SimpleNamespace(chooser=SimpleNamespace(watched=watched), answers={})

    plain = SimpleNamespace(model=SimpleNamespace(dtype=torch.float16))
    check = stub(SharingCheck, plain=plain)
    assert check._agree(trial(0.5 + moved), trial(0.5)) == agrees
