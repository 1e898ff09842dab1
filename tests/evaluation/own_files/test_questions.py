"""The questions about people's own files: their shape, their split, and that the invented files hold their answers."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from prefrag.components.errors import BadInput
from prefrag.evaluation.own_files.checks import find_faults, read_questions
from prefrag.evaluation.own_files.make_documents import find_package, read_packages, write_package
from prefrag.evaluation.own_files.office_documents import make_file, read_organisations, write_organisations

QUESTIONS = read_questions()
HALVES = ("dev", "test")
SINGLE = [question for question in QUESTIONS if not question["history"]]
OPEN = [question for question in SINGLE if not question["yes_no"]]


def test_each_question_has_its_fields_and_an_identifier_of_its_own():
    needed = {"id", "question", "history", "kind", "answers", "yes_no", "document", "evidence", "subject", "split"}

    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS) >= 160
    for question in QUESTIONS:
        assert needed <= set(question) <= needed | {"first_hop", "absent", "answer_elsewhere"}
        answerable = bool(question["answers"])
        assert answerable == bool(question["document"]) == bool(question["evidence"]) == (not question.get("absent"))
        assert not answerable or question["document"].startswith(f"{question['subject']}/")


def test_subjects_take_turns_between_the_halves():
    subjects = {
        "manuals": [package["package"] for package in read_packages()],
        "office": {file["path"].split("/")[0] for file in read_organisations()},
    }
    rule = {
        f"{kind}/{name}": HALVES[place % 2] for kind in subjects for place, name in enumerate(sorted(subjects[kind]))
    }

    assert {question["subject"]: question["split"] for question in QUESTIONS} == rule


@pytest.mark.parametrize("half", HALVES)
def test_a_third_has_no_answer_and_yes_no_come_in_thirds(half: str):
    asked = [question for question in OPEN if question["split"] == half]
    verdicts = Counter(question["yes_no"] for question in SINGLE if question["split"] == half and question["yes_no"])

    assert sum(not question["answers"] for question in asked) / len(asked) == pytest.approx(1 / 3, abs=0.02)
    assert verdicts == {"yes": 7, "no": 7, "nothing": 7}


def test_there_are_chains_follow_ups_and_several_ways_to_type():
    kinds = Counter(question["kind"] for question in QUESTIONS)

    assert kinds["two-hop"] >= 15
    assert (kinds["follow-up"], kinds["independent second"]) == (12, 4)
    assert all(question.get("first_hop") for question in QUESTIONS if question["kind"] == "two-hop")
    assert 0.5 < sum(not question["question"].endswith("?") for question in QUESTIONS) / len(QUESTIONS) < 0.8


def test_the_invented_files_are_the_same_each_time_and_hold_the_evidence(tmp_path: Path):
    pytest.importorskip("pptx", reason="the files of offices come with the extra `files`")
    written = write_organisations(tmp_path / "office")
    by_suffix = {Path(file["path"]).suffix: file for file in read_organisations()}

    assert written > 50
    assert {".docx", ".xlsx", ".pptx", ".pdf", ".csv", ".md", ".txt"} == set(by_suffix)
    for file in by_suffix.values():
        assert make_file(file) == (tmp_path / "office" / file["path"]).read_bytes()
    assert find_faults([q for q in QUESTIONS if q["subject"].startswith("office/")], tmp_path) == []


def test_what_is_wrong_with_a_question_is_found(tmp_path: Path):
    (tmp_path / "a.txt").write_text("The pier was built in\n1891 by Ada Holm.")
    question = {"id": "q", "document": "a.txt", "evidence": "built in 1891 by Ada Holm", "answers": ["1891"]}
    unknown = {"id": "u", "evidence": None, "answers": [], "absent": r"pier.{0,20}\d{4}"}

    assert find_faults([question], tmp_path) == []
    assert find_faults([{**question, "evidence": "built in 1892"}, unknown], tmp_path) == [
        "q: not in a.txt: built in 1892",
        "q: 1891 is not in its evidence",
        r"u: pier.{0,20}\d{4} stands in a.txt",
    ]


def test_only_the_pinned_package_is_taken_and_unpacked_under_names_that_say_what_is_in_it(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    files = {"doc/NEWS.gz": gzip.compress(b"Opened in 1891."), "doc/guide.rst.txt": b"Guide", "bin/pier": b"no"}
    with tarfile.open(fileobj=(packed := io.BytesIO()), mode="w:xz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    deb = b"!<arch>\n"
    for name, data in {"debian-binary": b"2.0", "data.tar.xz": packed.getvalue()}.items():
        deb += f"{name:<48}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    package = {"package": "pier", "version": "1:2.0-1", "take": ["doc/*"], "sha256": hashlib.sha256(deb).hexdigest()}

    with pytest.raises(BadInput, match=r"pier 1:2.0-1 is not in .* put its .deb file there"):
        find_package(package, tmp_path)
    (tmp_path / "pier_2.0-1_all.deb").write_bytes(deb)
    with pytest.raises(BadInput, match="SHA-256 differs"):
        find_package({**package, "sha256": "0"}, tmp_path)
    assert write_package(package, find_package(package, tmp_path), tmp_path / "made") == 2
    assert {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()} == {
        "NEWS.txt": b"Opened in 1891.",
        "guide.rst": b"Guide",
    }
