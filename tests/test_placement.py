"""Which GPUs models stand on, and what a plan says of it; what pictures cost by their vendors' rules."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hqm.administration.costs import picture_tokens
from hqm.administration.engines.placement import (
    GIB,
    Layout,
    Model,
    Node,
    allocate_all,
    plan_layouts,
)
from hqm.respondents.hf_loading import weights_of
from tests.messages import tells


def gpus(count: int, memory: int, name: str = "a") -> Node:
    return Node(name, 64, (1.0,) * count, memory * GIB)


def test_no_gpu_holds_more_than_it_has() -> None:
    """Of any models on any machines: shares of a GPU add up to at most one, and weights fit."""
    nodes = [gpus(4, 24), gpus(2, 80, "b"), gpus(1, 16, "c")]
    sizes = [60, 30, 14, 14, 8, 4, 4, 2, 1] * 6
    models = [Model(str(n), size * GIB) for n, size in enumerate(sizes)]
    shares: dict[tuple[str, int], float] = {}
    bytes_on: dict[tuple[str, int], float] = {}
    placed = list(allocate_all(models, nodes))
    for number, placement in placed:
        for gpu in placement.gpu_indices:
            key = placement.node, gpu
            shares[key] = shares.get(key, 0) + placement.gpus / len(placement.gpu_indices)
            bytes_on[key] = bytes_on.get(key, 0) + models[number].weights / len(
                placement.gpu_indices
            )
    memory = {node.name: node.memory for node in nodes}
    assert all(share <= 1 + 1e-9 for share in shares.values())
    assert all(n_bytes < memory[node] for (node, _), n_bytes in bytes_on.items())
    assert len(shares) == 7, "every GPU has something to do"
    assert {number for number, _ in placed} >= {0, 1, 2}, "the first of each size stand somewhere"


def test_where_no_gpu_says_its_memory_every_model_gets_a_whole_one() -> None:
    nodes = [Node("a", 8, (1.0, 1.0))]
    placed = allocate_all([Model(str(n), 2 * GIB) for n in range(3)], nodes)
    assert [(n, placement.gpu_indices) for n, placement in placed] == [(0, (0,)), (1, (1,))]


def test_a_model_on_a_machine_without_gpus_takes_cpus() -> None:
    (stands,) = plan_layouts([Model("x", GIB, cpus=2)], [Node("a", 5)])
    assert (stands.engines, stands.gpus, stands.misfit) == (2, 0.0, "")


def test_what_the_user_says_goes_before_the_weights() -> None:
    class Vllm:
        name, model_path = "vllm/x-7b?tensor_parallel_size=2", "x-7b"

    (stands,) = plan_layouts([Model.from_respondent(Vllm())], [gpus(4, 80)])
    assert (stands.engines, stands.gpus) == (2, 2.0)
    (stands,) = plan_layouts([Model("x-7b", 14e9, gpus=0.5)], [gpus(1, 80)])
    assert stands.engines == 2


def test_what_fits_nowhere_is_one_sentence() -> None:
    stands = plan_layouts([Model("hf/x-70b", 140e9), Model("hf/x-2b", 4e9)], [gpus(2, 24)])
    assert tells(stands[0].misfit, "ray.fits-nowhere")
    assert (stands[0].engines, stands[1].engines, stands[1].misfit) == (0, 8, "")
    late = plan_layouts([Model("a", 40e9), Model("b", 40e9)], [gpus(2, 24)])
    assert [stands.engines for stands in late] == [1, 0]
    assert "waits" in str(late[1])
    assert isinstance(late[0], Layout)


@pytest.mark.parametrize(
    ("resources", "memory"),
    [
        ({"accelerator_type:A100": 1}, 40),
        ({"accelerator_type:A100": 1, "accelerator_type:A100-80G": 1}, 80),
        ({"accelerator_type:AMD-Instinct-MI300X-OAM": 1}, 192),
        ({"accelerator_type:RTX-PRO-6000": 1}, 96),
        ({"accelerator_type:H100": 1, "gpu_memory": 94.0}, 94),
        ({"accelerator_type:of-tomorrow": 1}, 0),
    ],
)
def test_a_node_of_ray_says_the_memory_of_its_gpus(
    resources: dict[str, float], memory: int
) -> None:
    node = Node.from_ray({"NodeID": "a", "Resources": {"CPU": 4.0, "GPU": 2.0, **resources}})
    assert (len(node.gpus), node.memory) == (2, memory * GIB)


def test_weights_are_counted_in_the_index_before_the_files(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"torch_dtype": "float32"}))
    (tmp_path / "model-00001-of-00002.safetensors").write_bytes(b"0" * 400)
    assert weights_of(str(tmp_path), "hf/x-7b")[:2] == (100, 400)
    index = {"metadata": {"total_size": 1200}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert weights_of(str(tmp_path), "hf/x-7b") == (300, 1200, False)
    assert weights_of(str(tmp_path / "none"), "hf/x-2.5b").parameters == 2.5e9


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        ("gpt-4o", (1024, 1024), 765),
        ("gpt-4o", (2048, 4096), 1105),
        ("gpt-4o-2024-11-20", (128, 64), 255),
        ("gpt-4.1-2025-04-14", (128, 64), 255),
        ("gpt-4o-mini", (128, 64), 8500),
        ("o3-2025-04-16", (128, 64), 225),
        ("gpt-4.1-mini", (1024, 1024), 1024 * 1.62),
        ("gpt-4.1-mini", (4000, 1474), 1536 * 1.62),
        ("nobody-knows", (1024, 1024), None),
    ],
)
def test_pictures_cost_what_their_vendor_says(
    model: str, size: tuple[int, int], tokens: float | None
) -> None:
    """OpenAI's page of images and vision: the two examples of GPT-4o and that of patches. The small
    picture and the one beyond the limit are what users were billed (their forum's topics 1262691
    and 1281361), less the tokens of the text.
    """
    assert picture_tokens(model, size) == tokens


def test_a_plan_of_a_yes_no_benchmark_is_useful(run: Callable[..., tuple[int, str, str]]) -> None:
    """The dearest end is at most four times the cheapest, though no picture is here."""
    name = "openai/gpt-4o?price_in=2.5&price_out=10"
    code, output, err = run("audit", "shapes_yesno", "-r", name, "--dry-run", "--json")
    assert code == 0, err
    total = json.loads(output)["total"]
    assert total["cost_least"] < total["cost"] < total["cost_most"] < 4 * total["cost_least"]
    assert total["seconds_least"] < total["seconds"] < total["seconds_most"]
