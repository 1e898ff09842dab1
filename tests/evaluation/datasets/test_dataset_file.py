"""Reading a published file record by record."""

import bz2
import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.evaluation.datasets import dataset_file
from prefrag.evaluation.datasets.dataset_file import DatasetFile
from tests.for_each import for_each

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(st.dictionaries(st.text(), VALUES, max_size=4), max_size=6),
    st.integers(1, 40),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_an_array_is_read_as_json_does_wherever_it_is_cut(
    records: list[Any], chunk: int, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(records, indent=indent, ensure_ascii=ascii_only)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder, "a.json")
        path.write_bytes(text.encode("utf-8", "surrogatepass") if ascii_only else text.encode("utf-8", "replace"))
        expected = json.loads(path.read_text(encoding="utf-8"))
        patch.setattr(dataset_file, "_CHUNK", chunk)
        assert list(DatasetFile(path).json_array()) == list(enumerate(expected, start=1))


@for_each(
    "content, reason",
    ("", r"record 1: expected '\[', not the end"),
    ('{"a": 1}', r"record 1: expected '\[', not '{'"),
    ('[{"a": 1}', "record 2: expected ',', not the end"),
    ('[{"a": 1},', "record 2: it is not a JSON object"),
    ('[{"a": 1},]', "record 2: it is not a JSON object"),
    ('[{"a": 1} {"b": 2}]', "record 2: expected ',', not '{'"),
    ('[{"a": 1}, {"b": ', "record 2: it is not JSON"),
    ('[{"a": 1}, {"b": tru}]', "record 2: it is not JSON"),
    ("[1, 2]", "record 1: it is not a JSON object"),
    ("[" + '{"a":' * 100_000, "record 1: it is not JSON"),
)
def test_an_array_that_breaks_off_or_is_none_is_named(tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(ValueError, match=f"a.json, {reason}"):
        list(DatasetFile(tmp_path / "a.json").json_array())


def test_broken_record_or_line_leaves_the_rest_out_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_file, "MAX_RECORD_BYTES", 1000)
    monkeypatch.setattr(dataset_file, "_CHUNK", 100)
    (tmp_path / "a.json").write_text('[{"a": "never closed ' + "x" * 1_000_000)
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n' + "x" * 5_000)
    file = DatasetFile(tmp_path / "a.json")
    with pytest.raises(ValueError, match="record 1: it is not JSON"):
        list(file.json_array())
    assert file.position < 100_000
    with pytest.raises(ValueError, match=r"a.jsonl, line 2: it has more than"):
        list(DatasetFile(tmp_path / "a.jsonl").json_lines())


@for_each("suffix, pack", (".gz", gzip.compress), (".bz2", bz2.compress))
def test_packed_files_are_unpacked_while_they_are_read(tmp_path: Path, suffix: str, pack: Any) -> None:
    packed = pack(b'{"a": 1}\n\n{"a": 2}\n')
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(packed)
    file = DatasetFile(path)
    assert list(file.json_lines()) == [(1, {"a": 1}), (3, {"a": 2})]
    assert file.position == file.size() == len(packed)
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(ValueError, match="cannot be unpacked"):
        list(DatasetFile(path).json_lines())
    path.write_bytes(b"not packed at all")
    with pytest.raises(ValueError, match="cannot be unpacked"):
        list(DatasetFile(path).json_lines())


def test_byte_order_mark_is_passed_over_and_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf[{"a": 1}]')
    assert list(DatasetFile(tmp_path / "a.json").json_array()) == [(1, {"a": 1})]
    with pytest.raises(ValueError, match="is a folder: name a file in it"):
        list(DatasetFile(tmp_path).json_array())
