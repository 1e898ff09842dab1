"""`prefrag prove`: a folder is measured, the sentence printed and kept, and shown until much changes."""

import json
import os
import stat
from pathlib import Path

import pytest

from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.proof import READER, keep_proof, read_proofs
from prefrag.components.document_stores.tantivy.index_location import resolve_index
from prefrag.evaluation.prove.proof import file_marks, reader_version, say_kept
from tests.cli.running import prefrag
from tests.evaluation.prove.folder import TEXTS, passages
from tests.indexes import index_of


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalCollection:
    """A collection of this name in a data folder of its own."""
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path / "data"))
    index_of(passages(), tmp_path / "data" / "indexes" / "papers")
    return LocalCollection("papers")


def test_an_index_is_measured_and_the_sentence_kept_with_it(papers: LocalCollection, tmp_path: Path):
    result = prefrag("prove", "--index", "papers", "--questions", 2, "--output", tmp_path / "report")

    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "report" / "proof.json").read_text())
    assert (report["asked"], len(report["cases"])) == (2, 2)
    assert report["sentence"] in " ".join(result.stdout.split())
    page = (tmp_path / "report" / "proof.html").read_text()
    assert "<script" not in page
    assert "http" not in page
    kept = read_proofs(resolve_index("papers"))[READER]
    assert kept["sentence"] == report["sentence"]
    assert say_kept(papers) == f"{kept['sentence']} Measured on {kept['date']}."


@pytest.mark.skipif(os.name != "posix", reason="Windows has no modes")
def test_what_holds_sentences_of_the_files_is_private(papers: LocalCollection, tmp_path: Path):
    result = prefrag("prove", "--index", "papers", "--questions", 1)
    proofs = tmp_path / "data" / "proofs"

    assert result.exit_code == 0, result.output
    written = [proofs, *proofs.rglob("*"), resolve_index("papers") / "prefrag-proof.json"]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) & 0o077 for path in written}
    assert modes.keys() >= {"proofs", "papers", "answers.jsonl", "proof.html", "proof.json", "prefrag-proof.json"}
    assert set(modes.values()) == {0}


def test_without_an_answered_question_an_earlier_figure_stays(papers: LocalCollection, tmp_path: Path):
    keep_proof(resolve_index("papers"), READER, {"sentence": "Of 3."})
    result = prefrag("prove", "--index", "papers", "--minutes", 0, "--output", tmp_path / "report")

    assert result.exit_code == 0, result.output
    assert read_proofs(resolve_index("papers"))[READER] == {"sentence": "Of 3."}


@pytest.mark.slow
def test_a_folder_is_indexed_and_its_files_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path / "data"))
    folder = tmp_path / "letters"
    folder.mkdir()
    for title, text in TEXTS.items():
        (folder / f"{title}.txt").write_text(text)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    result = prefrag("prove", folder, "--questions", 1)

    assert result.exit_code == 0, result.output
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert (tmp_path / "data" / "proofs" / "letters" / "proof.html").exists()


def test_neither_or_both_of_folder_and_index_are_refused(tmp_path: Path):
    for arguments in ((), (tmp_path, "--index", "papers")):
        result = prefrag("prove", *arguments)

        assert result.exit_code == 2
        assert "Give a folder, or --index NAME" in result.stderr


class TestWhatWasMeasuredBefore:
    def keep(self, papers: LocalCollection, **changes: object) -> None:
        proof = {"sentence": "Of 3.", "date": "2026-11-29", "reader": reader_version(), "files": file_marks(papers)}
        keep_proof(resolve_index("papers"), READER, {**proof, **changes})

    def test_nothing_measured_says_nothing(self, papers: LocalCollection):
        assert say_kept(papers) == ""

    def test_another_reader_or_other_files_ask_for_another_measurement(self, papers: LocalCollection):
        self.keep(papers, reader="other")
        assert "before the reader changed; again: prefrag prove --index papers" in say_kept(papers)
        self.keep(papers, files=["00000000", *file_marks(papers)[2:]])
        assert "before more than a tenth of the files changed" in say_kept(papers)

    def test_another_model_is_named(self, papers: LocalCollection, monkeypatch: pytest.MonkeyPatch):
        self.keep(papers)
        monkeypatch.setenv("PREFRAG_LLM_MODEL", "qwen")

        assert say_kept(papers).startswith("Measured only with the reader, not with qwen")

    def test_doctor_shows_it(self, papers: LocalCollection):
        self.keep(papers)

        assert "Of 3. Measured on 2026-11-29" in prefrag("doctor", "--index", "papers", "--port", 1).stdout
