import itertools
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hqm.signature import canonical_json, digest, digest_bytes, digest_file, request_seed, sign
from tests.conftest import NIGHTLY

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@settings(max_examples=100 if NIGHTLY else 30)
@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_the_order_of_keys_does_not_matter(value: dict[str, object]) -> None:
    turned = dict(reversed(value.items()))
    assert canonical_json(value) == canonical_json(turned)
    assert digest(value) == digest(turned)


def test_the_hash_is_blake2b_of_the_canonical_json() -> None:
    # printf '"yes"' | b2sum -l 96, GNU coreutils 9.1
    assert digest("yes") == digest_bytes(b'"yes"') == "b2:2f70aeb064908305f964ab96"


def test_a_file_is_hashed_like_its_bytes(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"x" * 3_000_000)
    assert digest_file(file) == digest_bytes(b"x" * 3_000_000)


def test_a_seed_depends_on_base_respondent_run_and_question_alone() -> None:
    parts = itertools.product((0, 1), ("b2:m", "b2:n"), (0, 1), ("b2:a", "b2:b"))
    seeds = {request_seed(base, respondent, run, ask) for base, respondent, run, ask in parts}
    assert len(seeds) == 16
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert request_seed(3, "b2:m", 1, "b2:a") == request_seed(3, "b2:m", 1, "b2:a")


def test_a_signature_leaves_out_what_is_empty() -> None:
    assert sign({"a": 1, "b": None, "c": "", "d": 0}) == "a:1|d:0"
