"""How long variance components by moments take, and how that compares with REML.

    python tests/perf/components.py

20 respondents, 14,216 items in 1,016 pictures, 4 runs, 5 % of the cells missing; then 10 x 40
against statsmodels' mixed model.
"""

from __future__ import annotations

import time
import warnings
from itertools import product

import numpy as np

from hqm.psychometrics import crossed_components, g_and_phi


def seconds(work: object) -> float:
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - start


def main() -> None:
    """Print the times."""
    import pandas as pd
    import statsmodels.formula.api as smf

    rng = np.random.default_rng(0)
    x = (rng.random((20, 14216, 4)) < np.linspace(0.3, 0.9, 20)[:, None, None]).astype(float)
    x[rng.random(x.shape) < 0.05] = np.nan
    pictures, families = np.arange(14216) // 14, np.arange(20) // 4
    nested = {"item": ("picture", pictures), "respondent": ("family", families)}
    print(
        "components, 17 effects:"
        f" {seconds(lambda: crossed_components(x, ['respondent', 'item', 'run'], nested=nested)):.2f} s"
    )
    print(f"G and Phi, both intervals: {seconds(lambda: g_and_phi(x, 'run', pictures)):.2f} s")
    small = rng.normal(size=(10, 40)) + rng.normal(size=(10, 1)) + rng.normal(size=(1, 40))
    rows = [(m, i, small[m, i], 1) for m, i in product(range(10), range(40))]
    long_table = pd.DataFrame(rows, columns=["m", "i", "y", "one"])
    parts = {"m": "0 + C(m)", "i": "0 + C(i)"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = smf.mixedlm("y ~ 1", long_table, groups="one", vc_formula=parts, re_formula="0")
        rival = seconds(lambda: model.fit(reml=True))
    print(
        f"10 x 40: REML takes {rival / seconds(lambda: crossed_components(small, ['m', 'i'])):.0f}"
        " times as long"
    )


if __name__ == "__main__":
    main()
