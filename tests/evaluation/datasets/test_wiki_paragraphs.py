import json
from pathlib import Path

import pytest

from prefrag.evaluation.datasets import read_passages
from prefrag.evaluation.datasets.dataset_file import DatasetFile

PUBLISHED = Path(__file__).parent / "published"


def test_the_folder_is_read_file_by_file(abstracts: Path) -> None:
    passages = list(read_passages(abstracts))
    assert [passage.id for passage in passages] == ["Ada Quill", "Tom & Quill", "Brenholm"]
    assert passages[2].content == "Brenholm is a harbour town on the river Sorne. It has 4,120 inhabitants."
    assert passages[2].meta == {"title": "Brenholm", "url": "https://en.wikipedia.org/wiki?curid=39"}


def test_archive_is_read_as_it_is_with_a_count_of_what_was_read(abstracts: Path, archive: Path):
    assert list(read_passages(archive)) == list(read_passages(abstracts))

    for path in (abstracts, archive):
        file = DatasetFile(path)
        list(read_passages(file))
        assert file.position == file.size() > 0


def test_the_paragraphs_of_2wiki_are_read_alike() -> None:
    passages = list(read_passages(PUBLISHED / "2wikimultihopqa" / "para_with_hyperlink.jsonl"))
    assert [passage.id for passage in passages] == ["Ada Quill", "Brenholm"]


def test_a_folder_without_such_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(ValueError, match=r"holds no \.bz2 file"):
        list(read_passages(tmp_path))


def test_a_broken_file_among_them_is_named(abstracts: Path) -> None:
    broken = abstracts / "AB" / "wiki_00.bz2"
    broken.write_bytes(broken.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"AB/wiki_00\.bz2 cannot be unpacked"):
        list(read_passages(abstracts))


def test_whole_articles_are_not_read(tmp_path: Path) -> None:
    article = {"id": 12, "url": "", "title": "Anarchism", "text": [["Anarchism"], ["It is.", " It was."]]}
    (tmp_path / "w.jsonl").write_text(json.dumps(article))
    with pytest.raises(ValueError, match=r"w.jsonl, line 1: .*whole articles cannot be read"):
        list(read_passages(tmp_path / "w.jsonl"))
