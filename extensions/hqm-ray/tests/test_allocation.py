"""Which GPUs models stand on, and what a plan says of it."""

import pytest
from hqm_ray.allocation import Node, allocate_all, plan_layouts

from hqm.administration.engines.placement import GIB, Layout, Model
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
