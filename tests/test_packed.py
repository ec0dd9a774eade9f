"""Packed weights come back byte by byte, once, however many processes want them."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hqm
from hqm.respondents.hf_loading import WEIGHTS, find_model, unpack
from tests.messages import pattern_of
from training.packing import pack


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HQM_CACHE", str(tmp_path / "cache"))
    folder = shutil.copytree(find_model("shapes:small"), tmp_path / "small")
    pack(folder)
    return folder


def test_what_is_unpacked_is_what_was_packed(packed: Path, tmp_path: Path) -> None:
    raw, folder = (Path(find_model("shapes:small")) / WEIGHTS).read_bytes(), unpack(packed)
    assert not (packed / WEIGHTS).exists()
    assert (folder / WEIGHTS).read_bytes() == raw
    assert {path.name for path in folder.iterdir()} == {path.name for path in packed.iterdir()} - {
        f"{WEIGHTS}.xz"
    } | {WEIGHTS}
    assert unpack(packed) == folder
    assert unpack(folder) == folder, "weights that are not packed are left where they are"
    repacked = shutil.copytree(folder, tmp_path / "again")
    pack(repacked)
    assert (repacked / f"{WEIGHTS}.xz").read_bytes() == (packed / f"{WEIGHTS}.xz").read_bytes()


def test_other_files_beside_the_weights_are_another_folder(packed: Path) -> None:
    before = unpack(packed)
    (packed / "generation_config.json").write_text("{}")
    after = unpack(packed)
    assert after != before
    assert (after / "generation_config.json").read_text() == "{}"


def test_several_at_once_unpack_one_folder(packed: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        (folder,) = set(pool.map(unpack, [packed] * 16))
    assert len(list(folder.parent.iterdir())) == 1, "nothing half unpacked is left"


def test_a_cache_that_cannot_be_written_is_one_sentence(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HQM_CACHE", str(tmp_path / "file"))
    with pytest.raises(hqm.DataError, match=pattern_of("cache.unwritable") + ".*HQM_CACHE"):
        unpack(packed)
