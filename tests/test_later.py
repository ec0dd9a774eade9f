"""Workers leave out what only training, compiling and exporting need, until something of it is
needed.
"""

import json
import subprocess
import sys

import pytest

from hqm.administration.engines.lazy_imports import _LATER
from tests.conftest import needs_torch

pytestmark = [
    needs_torch,
    pytest.mark.skipif(
        sys.platform != "linux",
        reason="only there are workers forked from a process that imports ahead",
    ),
]
FORKS = """
import json, os, sys
import hqm.administration.engines.warm
printed = {}
for code in json.loads(sys.argv[1]):
    reading, writing = os.pipe()
    if not os.fork():
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        try:
            exec(code, {"sys": sys})
        except BaseException as error:
            print(repr(error))
        sys.stdout.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as opened:
        printed[code] = opened.read().splitlines()
    os.wait()
print(json.dumps(printed))
"""
"""A server as that of the engine: it has imported what workers need, and forks one for each code."""
LEFT_OUT = (
    "sympy",
    "torch._dynamo.symbolic_convert",
    "torch.distributed.tensor",
    "torch._inductor",
    "scipy.optimize._minimize",
)
NOTHING_YET = (
    "print('transformers.modeling_utils' in sys.modules)\n"
    f"print([name for name in {LEFT_OUT!r} if name in sys.modules])\n"
    "from hqm.administration.engines.lazy_imports import _LATER\n"
    "import torch.fx.experimental.symbolic_shapes\n"
    "print(*(type(sys.modules[name]).__name__ for name in _LATER))"
)
AT_ONCE = (
    "from concurrent.futures import ThreadPoolExecutor\nimport scipy.optimize as o\n"
    "with ThreadPoolExecutor(8) as pool:\n"
    "    print(len({pool.submit(lambda: o.minimize.__name__).result() for _ in range(8)}),"
    " {f.result() for f in [pool.submit(getattr, o, n) for n in ['brentq'] * 8]} == {o.brentq})"
)
USED = [
    (
        (
            "from transformers.loss import loss_for_object_detection as losses\n"
            "print(*(side.tolist() for side in losses.linear_sum_assignment([[4, 1], [2, 5]])))"
        ),
        "[0, 1] [1, 0]",
    ),
    (
        (
            "import scipy.optimize\nprint(round(scipy.optimize.brentq(lambda x: x * x - 2, 0,"
            " 2), 6))"
        ),
        "1.414214",
    ),
    ("from scipy.optimize import *\nprint(callable(minimize))", "True"),
    (
        (
            "import torch\nsteps = []\ndoubled = torch.compile(lambda x: 2 * x, backend=lambda"
            " graph, _: steps.append(graph) or graph,"
            " fullgraph=True)\nprint(doubled(torch.ones(2)).tolist(), len(steps))"
        ),
        "[2.0, 2.0] 1",
    ),
    (
        (
            "import torch\nclass Twice(torch.nn.Module):\n    def forward(self, x):\n       "
            " return 2 * x\nprint(torch.export.export(Twice(),"
            " (torch.ones(2),)).module()(torch.ones(2)).tolist())"
        ),
        "[2.0, 2.0]",
    ),
    ("from transformers.models import LlavaConfig\nprint(LlavaConfig().model_type)", "llava"),
    ("import transformers\nprint(transformers.models.llava.LlavaConfig().model_type)", "llava"),
    (
        (
            "import torch\nfrom torch.fx.experimental.symbolic_shapes import"
            " *\nprint(torch._check(True))"
        ),
        "None",
    ),
    (
        (
            "from torch.fx.experimental import"
            " symbolic_shapes\nprint(symbolic_shapes.is_concrete_int(3))"
        ),
        "True",
    ),
    (
        (
            "import torch._dynamo\ntry:\n    torch._dynamo.nothing\nexcept AttributeError as"
            " e:\n    print(e)"
        ),
        "module 'torch._dynamo' has no attribute 'nothing'",
    ),
]
"""What uses a module that was left out, and what it prints."""


@pytest.fixture(scope="module")
def printed() -> dict[str, list[str]]:
    """What each code prints in a worker of its own."""
    codes = [NOTHING_YET, AT_ONCE, *(used for used, _ in USED)]
    command = [sys.executable, "-W", "ignore", "-c", FORKS, json.dumps(codes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(json.loads(done.stdout))


def test_workers_leave_out_what_they_do_not_need(printed: dict[str, list[str]]) -> None:
    """The modules are there, and nothing has been executed of them; sympy and the tensors of
    several machines come with them.
    """
    assert printed[NOTHING_YET] == ["True", "[]", " ".join(["_Later"] * len(_LATER))]


@pytest.mark.parametrize(("used", "shown"), USED)
def test_a_module_is_there_once_something_of_it_is_needed(
    used: str, shown: str, printed: dict[str, list[str]]
) -> None:
    assert printed[used] == [shown]


def test_threads_that_need_it_at_once_all_have_it(printed: dict[str, list[str]]) -> None:
    assert printed[AT_ONCE] == ["1 True"]
