"""Workers leave out what only training, compiling and exporting need, until something of it is
needed.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hqm import Request, Sampling, make_respondent
from hqm.administration.engines.lazy_imports import _LATER
from tests.test_families import EVERY, QUESTIONS
from tests.tiny_models import build

pytestmark = pytest.mark.skipif(
    sys.platform != "linux",
    reason="only there are workers forked from a process that imports ahead",
)
WARM = "import sys\nimport hqm.administration.engines.warm\n"
ANSWERS = """
import json
from pathlib import Path
from hqm import Request, Sampling, make_respondent
folders, questions, picture = json.loads(sys.argv[1])
for folder in folders:
    respondent = make_respondent(f"hf/{folder}")
    requests = [Request(q, Path(picture), Sampling(1.0, 1.0, 8, 0), n) for n, q in enumerate(questions)]
    print(json.dumps([r.text for batch in respondent.answer(requests) for _, r in batch]))
"""


def lines(code: str, *arguments: str) -> list[str]:
    """What a process of its own prints."""
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_workers_leave_out_what_they_do_not_need() -> None:
    """The modules are there, and nothing has been executed of them; sympy and the tensors of
    several machines come with them.
    """
    left_out = (
        "sympy",
        "torch._dynamo.symbolic_convert",
        "torch.distributed.tensor",
        "torch._inductor",
        "scipy.optimize._minimize",
    )
    code = (
        WARM + "print('transformers.modeling_utils' in sys.modules)\n"
        f"print([name for name in {left_out!r} if name in sys.modules])\n"
        "from hqm.administration.engines.lazy_imports import _LATER\n"
        "import torch.fx.experimental.symbolic_shapes\n"
        "print(*(type(sys.modules[name]).__name__ for name in _LATER))"
    )
    assert lines(code) == ["True", "[]", " ".join(["_Later"] * len(_LATER))]


@pytest.mark.parametrize(
    ("used", "printed"),
    [
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
    ],
)
def test_a_module_is_there_once_something_of_it_is_needed(used: str, printed: str) -> None:
    assert lines(WARM + used) == [printed]


def test_threads_that_need_it_at_once_all_have_it() -> None:
    code = (
        WARM + "from concurrent.futures import ThreadPoolExecutor\nimport scipy.optimize as o\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    print(len({pool.submit(lambda: o.minimize.__name__).result() for _ in range(8)}),"
        " {f.result() for f in [pool.submit(getattr, o, n) for n in ['brentq'] * 8]} == {o.brentq})"
    )
    assert lines(code) == ["1 True"]


def test_every_family_answers_in_a_worker_as_anywhere(tmp_path: Path) -> None:
    from PIL import Image

    picture = tmp_path / "picture.png"
    Image.new("RGB", (64, 48), "red").save(picture)
    names = [str(case.values[0]) for case in EVERY if not any(mark.args[0] for mark in case.marks)]
    folders = [str(build(name, tmp_path / name)) for name in names]
    here = []
    for folder in folders:
        requests = [
            Request(q, picture, Sampling(1.0, 1.0, 8, 0), n) for n, q in enumerate(QUESTIONS)
        ]
        here.append(
            [r.text for batch in make_respondent(f"hf/{folder}").answer(requests) for _, r in batch]
        )
    printed = lines(WARM + ANSWERS, json.dumps([folders, QUESTIONS, str(picture)]))
    assert [json.loads(line) for line in printed if line.startswith("[")] == here
    assert len(names) > 10
