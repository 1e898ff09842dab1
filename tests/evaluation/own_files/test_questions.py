"""The questions about people's own files: their fields and their split, and that the documents have their answers."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections import Counter
from pathlib import Path

import pytest
import typer

from prefrag.errors import BadInput
from prefrag.evaluation.datasets import load_questions
from prefrag.evaluation.own_files import checks, make_documents
from prefrag.evaluation.own_files.checks import find_faults, read_questions
from prefrag.evaluation.own_files.make_documents import find_package, read_packages, write_package
from prefrag.evaluation.own_files.office_documents import (
    make_file,
    read_organisations,
    read_person,
    write_organisations,
    write_person,
)
from tests.for_each import for_each

HALVES = {half: read_questions(half) for half in ("dev", "test")}
QUESTIONS = [question for half in HALVES.values() for question in half]
TRAIN = read_questions("train")


def test_question_has_its_fields_and_an_identifier_of_its_own():
    needed = {"id", "question", "type", "answers", "answerable", "subject"}
    others = {"first_hop", "history", "yes_no", "answer_elsewhere"}

    asked = [*QUESTIONS, *TRAIN]
    assert len({question["id"] for question in asked}) == len(asked) >= 800
    for question in asked:
        place = {"document", "sentences"} if question["answerable"] else {"absent"}
        assert needed | place <= set(question) <= needed | place | others
        assert bool(question["answers"]) == question["answerable"]
        assert question.get("document", question["subject"]).startswith(question["subject"])


@for_each("name", "dev", "test", "train", "languages")
def test_evaluate_reads_the_questions(name: str):
    path = Path(checks.__file__).with_name(f"{name}.jsonl")

    assert len(load_questions(path)) == len(read_questions(name))


def test_there_are_twenty_questions_in_each_language():
    asked = Counter(question["type"] for question in read_questions("languages"))

    assert asked == {package["folder"]: 20 for package in read_packages("languages.json")}
    assert len(asked) == 6


def test_subjects_take_turns_between_the_halves():
    packages = sorted(package["package"] for package in read_packages("packages.json"))
    organisations = sorted({file["path"].split("/")[0] for file in read_organisations()})

    for place, half in enumerate(HALVES):
        turn = {f"manuals/{name}" for name in packages[place::2]} | {
            f"office/{name}" for name in organisations[place::2]
        }
        assert {question["subject"] for question in HALVES[half]} == turn


def test_fitted_questions_share_no_subject_with_reported_ones():
    packages = {f"manuals/{package['package']}" for package in read_packages("packages_train.json")}
    organisations = {f"office/{file['path'].split('/')[0]}" for file in read_organisations(train=True)}
    subjects = {question["subject"] for question in TRAIN}

    assert subjects == packages | organisations
    assert not subjects & {question["subject"] for question in QUESTIONS}
    assert not {"yes_no", "history"} & {field for question in TRAIN for field in question}
    assert sum(question["answerable"] for question in TRAIN) / len(TRAIN) == pytest.approx(0.6, abs=0.03)


@for_each("half", *HALVES)
def test_a_third_has_no_answer_and_yes_no_come_in_thirds(half: str):
    asked = [question for question in HALVES[half] if "yes_no" not in question and "history" not in question]

    assert sum(not question["answerable"] for question in asked) / len(asked) == pytest.approx(1 / 3, abs=0.02)
    verdicts = Counter(question["yes_no"] for question in HALVES[half] if "yes_no" in question)
    assert verdicts == {"yes": 7, "no": 7, "nothing": 7}


def test_there_are_chains_follow_ups_and_several_ways_to_type():
    types = Counter(question["type"] for question in QUESTIONS)

    assert types["two-hop"] == sum("first_hop" in question for question in QUESTIONS) >= 15
    assert (types["follow-up"], types["independent-second"]) == (12, 4)
    assert 0.5 < sum(not question["question"].endswith("?") for question in QUESTIONS) / len(QUESTIONS) < 0.8


@pytest.mark.slow
def test_invented_files_are_repeatable_and_hold_the_sentences(tmp_path: Path):
    pytest.importorskip("pptx", reason="Office files need the extra `files`")
    written = write_organisations(tmp_path / "reported" / "office")
    fitted = write_organisations(tmp_path / "train" / "office", train=True)
    by_suffix = {Path(file["path"]).suffix: file for file in read_organisations()}

    assert (written, fitted) == (53, 34)
    assert {".docx", ".xlsx", ".pptx", ".pdf", ".csv", ".md", ".txt"} == set(by_suffix)
    for file in by_suffix.values():
        assert make_file(file) == (tmp_path / "reported" / "office" / file["path"]).read_bytes()
    for questions, folder in ((QUESTIONS, tmp_path / "reported"), (TRAIN, tmp_path / "train")):
        assert find_faults([q for q in questions if q["subject"].startswith("office/")], folder) == []


def test_questions_of_the_person_are_sixty_with_rows_in_halves():
    for rest in (0, 1):
        half = [
            question for question in read_questions("person/questions") if int(question["id"].split("-")[1]) % 2 == rest
        ]
        answerable = [question for question in half if question["answerable"]]

        assert (len(half), len(answerable)) == (30, 20)
        assert sum(question["type"] == "row" for question in answerable) == 5


@pytest.mark.slow
def test_files_of_the_person_are_repeatable_and_hold_sentences(tmp_path: Path):
    pytest.importorskip("pptx", reason="Office files need the extra `files`")
    count = write_person(tmp_path)
    by_suffix = {Path(file["path"]).suffix: file for file in read_person()}

    assert count == 48
    assert set(by_suffix) > {".docx", ".odt", ".ods", ".xlsx", ".pptx", ".pdf", ".eml", ".mbox", ".html", ".tsv"}
    for file in by_suffix.values():
        assert make_file(file) == (tmp_path / file["path"]).read_bytes()
    assert find_faults(read_questions("person/questions"), tmp_path) == []


def test_what_is_wrong_with_a_question_is_found(tmp_path: Path):
    (tmp_path / "a.txt").write_text("The pier was built in\n1891 by Ada Holm.")
    question = {"id": "q", "document": "a.txt", "sentences": ["built in 1891"], "answers": ["1891"], "answerable": True}
    unknown = {"id": "u", "answerable": False, "answers": [], "absent": r"pier.{0,20}\d{4}"}

    assert find_faults([question], tmp_path) == []
    assert find_faults([{**question, "sentences": ["built in 1892"]}, unknown], tmp_path) == [
        "q: this sentence is not in a.txt: built in 1892",
        "q: the answer 1891 is in none of the question's sentences",
        r"u: pier.{0,20}\d{4} should be absent, but is in a.txt",
    ]


@pytest.mark.parametrize("faults", [[], ["pier-01: its document is missing"]])
def test_a_missing_package_is_told_and_the_rest_is_made(faults: list[str], tmp_path: Path, monkeypatch, capsys):
    pins = [{"package": name, "version": "1.0", "take": ["*"], "sha256": "0"} for name in ("pier", "quay")]
    monkeypatch.setattr(make_documents, "read_packages", lambda _: pins)
    monkeypatch.setattr(make_documents.shutil, "which", lambda name: name == "groff")
    monkeypatch.setattr(make_documents, "find_faults", lambda *_: faults)

    with pytest.raises(typer.Exit) as ended:
        make_documents.make_documents(tmp_path / "made")

    told = capsys.readouterr().out
    assert all(f"{name} 1.0 is not in" in told for name in ("pier", "quay"))
    assert all(fault in told for fault in faults)
    assert ended.value.exit_code == 1
    assert any((tmp_path / "made" / "office").rglob("*.*"))


def test_pinned_package_alone_is_taken_and_its_files_named_anew(tmp_path: Path, monkeypatch):
    """The names say what is in them."""

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
    (tmp_path / "pier_2.0-1_all.deb").rename(tmp_path / "pier_1%3a2.0-1_all.deb")
    assert find_package(package, tmp_path) == deb
    assert {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()} == {
        "NEWS.txt": b"Opened in 1891.",
        "guide.rst": b"Guide",
    }
