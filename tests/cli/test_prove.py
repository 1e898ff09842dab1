"""`prefrag prove`: a folder is measured, the sentence printed and kept, and shown until much changes."""

import json
import os
import stat
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from haystack import Document

from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.proof import READER, keep_proof, read_proofs
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import resolve_index
from prefrag.components.generators.chat_model import ChatModel
from prefrag.evaluation.prove import figures
from prefrag.evaluation.prove.asking import Plan
from prefrag.evaluation.prove.proof import answering_version, file_marks, index_version, reader_version, say_kept
from prefrag.file_lock import hold_lock
from prefrag.pipelines.loading import find
from prefrag.private_file import make_private_folder
from tests.cli.running import prefrag
from tests.components.generators.fake_model_server import FakeModelServer
from tests.evaluation.prove.cases import case, compared
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
    kept = read_proofs(resolve_index("papers"))[READER]["prefrag"]
    assert kept["sentence"] == report["sentence"]
    assert say_kept(papers) == f"{kept['sentence']} Measured on {kept['date']}."


@pytest.mark.skipif(os.name != "posix", reason="Windows has no modes")
def test_what_holds_sentences_of_the_files_is_private(papers: LocalCollection, tmp_path: Path):
    result = prefrag("prove", "--index", "papers", "--questions", 1)
    proofs = tmp_path / "data" / "proofs"

    assert result.exit_code == 0, result.output
    written = [
        proofs,
        *(path for path in proofs.rglob("*") if path.name != ".lock"),
        resolve_index("papers") / "prefrag-proof.json",
    ]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) & 0o077 for path in written}
    assert modes.keys() >= {"proofs", "papers", "answers.jsonl", "proof.html", "proof.json", "prefrag-proof.json"}
    assert set(modes.values()) == {0}


def test_without_an_answered_question_an_earlier_figure_stays(papers: LocalCollection, tmp_path: Path):
    keep_proof(resolve_index("papers"), READER, "prefrag", {"sentence": "Of 3."})
    result = prefrag("prove", "--index", "papers", "--minutes", 0, "--output", tmp_path / "report")

    assert result.exit_code == 0, result.output
    assert read_proofs(resolve_index("papers"))[READER]["prefrag"] == {"sentence": "Of 3."}


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
        assert "Give a folder, or --collection NAME" in result.stderr


@pytest.mark.parametrize("pipeline", ["prefrag_elasticsearch", "vanilla_web"])
def test_a_pipeline_without_an_index_here_is_refused(papers: LocalCollection, pipeline: str):
    result = prefrag("prove", "--index", "papers", "--pipeline", pipeline)

    assert result.exit_code == 2
    assert f"The pipeline {pipeline} searches no index of this machine" in " ".join(result.stderr.split())


def test_the_reports_are_deleted_with_the_index(papers: LocalCollection, tmp_path: Path):
    for name in ("papers", "others"):
        make_private_folder(tmp_path / "data" / "proofs" / name)
    papers.drop()

    assert [path.name for path in (tmp_path / "data" / "proofs").iterdir()] == ["others"]


def test_another_process_measures_into_the_folder(papers: LocalCollection, tmp_path: Path):
    with hold_lock(tmp_path / "report" / ".lock", 0.0, "measuring"):
        result = prefrag("prove", "--index", "papers", "--questions", 1, "--output", tmp_path / "report")

    assert result.exit_code == 2
    assert "Another process is still measuring into this folder" in " ".join(result.stderr.split())


def test_documents_that_change_meanwhile_are_not_measured(
    papers: LocalCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def ask_all(*_: Any) -> dict[str, Any]:
        TantivyDocumentStore(path=str(resolve_index("papers"))).write_documents(
            passages(Later="The hall closed in 2001.")
        )
        return {"cases": [case(1, as_it_is="right")], "dropped": {}, "questions": 1}

    monkeypatch.setattr("prefrag.evaluation.prove.proof.ask_all", ask_all)
    result = prefrag("prove", "--index", "papers", "--output", tmp_path / "report")

    assert result.exit_code == 0, result.output
    assert "before more than a tenth of the files changed; again: prefrag prove" in say_kept(papers)


class TestApply:
    """What is measured decides, from then on, how sure an answer has to be and which loop the model has."""

    @staticmethod
    def measured(monkeypatch: pytest.MonkeyPatch, *measured: dict[str, Any]) -> None:
        async def ask_all(*_: Any) -> dict[str, Any]:
            return {"cases": list(measured), "dropped": {}, "questions": len(measured)}

        monkeypatch.setattr("prefrag.evaluation.prove.proof.ask_all", ask_all)

    def test_the_certainty_holds_for_the_next_question(
        self, papers: LocalCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        def ask() -> dict[str, Any]:
            asked = prefrag("ask", "who opened the Pellhaven Hall", "--index", "papers", "--json")
            return json.loads(asked.stdout)

        before = ask()
        assert (before["certainty"], before["probability"] < 0.999) == ("stated", True)
        sure = [case(number, probability=1.0, as_it_is="right") for number in range(60)]
        unsure = [case(60 + number, probability=0.998, without="wrong") for number in range(20)]
        self.measured(monkeypatch, *sure, *unsure)
        result = prefrag("prove", "--index", "papers", "--output", tmp_path / "report")
        assert result.exit_code == 0, result.output
        assert ask()["certainty"] == "stated"
        result = prefrag("prove", "--index", "papers", "--output", tmp_path / "report", "--apply")

        assert "From now on Stated is said from a certainty of 0.999 on this collection" in " ".join(
            result.stdout.split()
        )
        assert ask()["certainty"] == "probably"

    def test_the_better_loop_is_kept_and_the_figure_is_one_of_before(
        self, papers: LocalCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        server = FakeModelServer()
        monkeypatch.setenv("PREFRAG_LLM_BASE_URL", server.url)
        monkeypatch.setenv("PREFRAG_LLM_MODEL", "small")
        monkeypatch.delenv("PREFRAG_LLM_FORMAT")
        ChatModel().keep(reply_format="text", reason="tried")
        index_of(passages(), tmp_path / "data" / "indexes" / "others")
        others = LocalCollection("others")
        proof = {"sentence": "Of 3.", "date": "2026-11-29", "reader": reader_version(), "files": file_marks(others)}
        keep_proof(resolve_index("others"), "small", "prefrag", {**proof, "loop": "text"})
        keep_proof(resolve_index("others"), "small", "no_loop", {**proof, "loop": "", "sentence": "Of 4."})
        assert "before" not in say_kept(others)
        self.measured(monkeypatch, *compared("withheld", "right", 8))
        arguments = ("prove", "--index", "papers", "--output", tmp_path / "report")
        assert prefrag(*arguments).exit_code == 0
        assert ChatModel().reply_format == "text"
        result = prefrag(*arguments, "--apply")
        loop, reason, kept = ChatModel().reply_format, ChatModel().format_reason, say_kept(papers)
        kept_of_others = say_kept(others)
        monkeypatch.setenv("PREFRAG_LLM_FORMAT", "text")
        kept_with_the_first_loop = say_kept(others)
        server.close()

        assert "The model now has the loop steps" in " ".join(result.stdout.split())
        assert (loop, reason) == ("steps", "`prefrag prove` on papers: better in 8 of 8")
        assert "before the loop of the model changed; again: prefrag prove --collection papers" in kept
        assert "Of 3. Measured on 2026-11-29, before the loop of the model changed" in kept_of_others
        assert kept_of_others.count("before") == 1, "a pipeline that leaves no loop open is as it was"
        assert "before" not in kept_with_the_first_loop

    def test_a_loop_that_is_set_is_compared_with_no_other(
        self, papers: LocalCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        plans: list[Plan] = []

        async def ask_all(plan: Plan, *_: Any) -> dict[str, Any]:
            plans.append(plan)
            return {"cases": [], "dropped": {}, "questions": 0}

        server = FakeModelServer()
        for name, value in {"BASE_URL": server.url, "MODEL": "small", "FORMAT": "text"}.items():
            monkeypatch.setenv(f"PREFRAG_LLM_{name}", value)
        monkeypatch.setattr("prefrag.evaluation.prove.proof.ask_all", ask_all)
        prefrag("prove", "--index", "papers", "--output", tmp_path / "report")
        server.close()

        assert [(plan.other_loop, plan.writer is not None) for plan in plans] == [("", True)]


@pytest.mark.slow
def test_a_folder_is_measured_and_applied_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """All is real but the verdicts, of which the less sure half are made wrong: in so small a folder none is."""

    def ask(question: str) -> str:
        return json.loads(prefrag("ask", question, "--index", "letters", "--json").stdout)["certainty"]

    for name, value in {"DATA_DIR": tmp_path / "data", "WEB": "off"}.items():
        monkeypatch.setenv(f"PREFRAG_{name}", str(value))
    monkeypatch.setattr(figures, "_FEWEST_DOCUMENTS", 2)
    monkeypatch.setattr(figures, "half_of", lambda document: ord(Path(document).name[0]) % 2)
    folder = tmp_path / "letters"
    folder.mkdir()
    for number, name in enumerate(("Alder", "Birch", "Cedar", "Elder", "Fulmar", "Gannet", "Heron", "Kestrel")):
        (folder / f"{name}.txt").write_text(
            f"The {name} mill is by the river. The {name} mill opened in {1851 + number}."
        )
    assert prefrag("prove", folder).exit_code == 0
    answers = tmp_path / "data" / "proofs" / "letters" / "answers.jsonl"
    key, *lines = answers.read_text().splitlines()
    cases = [json.loads(line) for line in lines]
    choosing = [case for case in cases if figures.half_of(case["document"]) == 0]
    least = min(choosing, key=lambda case: case["worlds"]["as it is"]["probability"])
    for half in (0, 1):
        own = [case["worlds"].values() for case in cases if figures.half_of(case["document"]) == half]
        stated = [answer for worlds in own for answer in worlds if answer["certainty"] == "stated"]
        middle = median(answer["probability"] for answer in stated)
        for answer in stated:
            answer["verdict"] = "wrong" if answer["probability"] < middle else "right"
    answers.write_text("\n".join((key, *map(json.dumps, cases), "")))
    assert ask(least["question"]) == "stated"

    result = prefrag("prove", folder, "--apply")

    assert "From now on Stated is said from a certainty of" in result.stdout, result.output
    assert ask(least["question"]) == "probably"


class TestWhatAnswersDecidesWhetherAnswersCount:
    @pytest.fixture(autouse=True)
    def pipeline(self, tmp_path: Path) -> Path:
        path = tmp_path / "own.yaml"
        path.write_text(find("prefrag").read_text(encoding="utf-8"), encoding="utf-8")
        return path

    def test_a_changed_pipeline_of_the_same_name_is_another(self, pipeline: Path):
        before = answering_version(str(pipeline))
        changed = pipeline.read_text(encoding="utf-8").replace("top_k: ", "top_k: 1", 1)
        assert changed != pipeline.read_text(encoding="utf-8")
        pipeline.write_text(changed, encoding="utf-8")

        assert answering_version(str(pipeline)) != before

    def test_another_setting_of_a_model_is_another_but_not_its_key(self, monkeypatch: pytest.MonkeyPatch):
        before = answering_version("prefrag")
        for name in ("PREFRAG_LLM_API_KEY", "PREFRAG_JUDGE_API_KEY"):
            monkeypatch.setenv(name, "secret")
        assert answering_version("prefrag") == before
        for name, value in (("PREFRAG_LLM_THINKING", "off"), ("PREFRAG_JUDGE_BASE_URL", "http://127.0.0.1:9/v1")):
            monkeypatch.setenv(name, value)
            before, last = answering_version("prefrag"), before
            assert before != last

    def test_another_version_of_the_program_is_another(self, monkeypatch: pytest.MonkeyPatch):
        before = answering_version("prefrag")
        monkeypatch.setattr("prefrag.evaluation.prove.proof.find_version", lambda: "99.0")

        assert answering_version("prefrag") != before


class TestWhatWasMeasuredBefore:
    def keep(self, papers: LocalCollection, **changes: object) -> None:
        proof = {"sentence": "Of 3.", "date": "2026-11-29", "reader": reader_version(), "files": file_marks(papers)}
        keep_proof(resolve_index("papers"), READER, "prefrag", {**proof, **changes})

    def test_nothing_measured_says_nothing(self, papers: LocalCollection):
        assert say_kept(papers) == ""

    def test_another_reader_or_other_files_need_a_new_measurement(self, papers: LocalCollection):
        self.keep(papers, reader="other")
        assert "before the reader changed; again: prefrag prove --collection papers" in say_kept(papers)
        self.keep(papers, files=["00000000", *file_marks(papers)[2:]])
        assert "before more than a tenth of the files changed" in say_kept(papers)

    def test_changed_passages_without_files_need_a_new_measurement(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path / "data"))
        store = index_of([Document(content="The hall.")], tmp_path / "data" / "indexes" / "corpus")
        corpus, index = LocalCollection("corpus"), resolve_index("corpus")
        proof = {"sentence": "Of 3.", "date": "2026-11-29", "reader": reader_version(), "version": index_version(index)}
        keep_proof(index, READER, "prefrag", proof)
        assert say_kept(corpus) == "Of 3. Measured on 2026-11-29."
        store.write_documents([Document(content="The mill.")])

        assert "before the passages changed; again: prefrag prove --collection corpus" in say_kept(corpus)

    def test_another_pipeline_is_named(self, papers: LocalCollection):
        self.keep(papers)
        keep_proof(resolve_index("papers"), READER, "dr_rag", {"sentence": "Of 4.", "date": "2026-11-29"})

        assert "Of 3. Measured on 2026-11-29" in say_kept(papers)
        assert "Of 4. Measured with the pipeline dr_rag on 2026-11-29" in say_kept(papers)

    def test_another_model_is_named(self, papers: LocalCollection, monkeypatch: pytest.MonkeyPatch):
        self.keep(papers)
        monkeypatch.setenv("PREFRAG_LLM_BASE_URL", "http://127.0.0.1:9/v1")
        monkeypatch.setenv("PREFRAG_LLM_MODEL", "qwen")

        assert say_kept(papers).startswith("Measured only with the reader, not with qwen")

    def test_doctor_shows_it(self, papers: LocalCollection):
        self.keep(papers)

        assert "Of 3. Measured on 2026-11-29" in prefrag("doctor", "--index", "papers", "--port", 1).stdout
