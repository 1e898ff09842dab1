"""The project's own format."""

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from haystack import Document
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.text.passage_record import PassageRecord
from prefrag.evaluation.datasets import load_questions, read_passages, write_jsonl
from prefrag.evaluation.question import Hop, Question
from tests.for_each import for_each

FOLDER = Path(__file__).parent / "published" / "own" / "musique"
WORD = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: text == text.strip() and text != "")
ONE_LINE = WORD.filter(lambda text: len(text.splitlines()) == 1)
WORDS = st.lists(WORD, max_size=3).map(tuple)
QUESTIONS = st.builds(
    Question,
    id=WORD,
    question=ONE_LINE,
    answers=st.lists(WORD, min_size=1, max_size=3).map(tuple),
    type=st.sampled_from(["", "bridge"]),
    supporting_ids=WORDS,
    candidate_ids=WORDS,
    decomposition=st.lists(st.builds(Hop, WORD, WORD, st.one_of(st.just(""), WORD)), max_size=2).map(tuple),
    evidence_triples=st.lists(st.tuples(WORD, WORD, WORD), max_size=2).map(tuple),
    dataset=st.sampled_from(["hotpotqa", "mine"]),
    answerable=st.sampled_from([None, True]),
    sentences=WORDS,
    history=st.lists(st.tuples(st.sampled_from(["user", "assistant"]), ONE_LINE), max_size=2).map(tuple),
)


def test_a_question_is_read_with_all_it_has() -> None:
    first, second = load_questions(FOLDER / "dev.jsonl")
    assert first == Question(
        id="2hop__89764_827343",
        question="Where?",
        answers=("Brenholm", "there"),
        type="2hop",
        supporting_ids=("mq-1", "mq-2"),
        candidate_ids=("mq-1", "mq-2", "mq-3"),
        decomposition=(Hop("who", "Ada Quill", "mq-1"),),
        dataset="musique",
    )
    assert second.evidence_triples == (("Brenholm", "river", "Sorne"),)
    assert second.dataset == "musique"


@for_each(
    "question_id, kind, file, dataset",
    ("5a7f00b455429930675135f1", "", "x/q", "hotpotqa"),
    ("9b3d9fa4089d11ebbd78ac1f6bf848b6", "", "x/q", "2wikimultihopqa"),
    ("4hop1__709382_146811_31223_91015", "", "bioasq/q", "musique"),
    ("55031181e9bde69634000014", "yesno", "BioASQ/q", "bioasq"),
    ("q1", "", "bioasq/v11/q", "bioasq"),
    ("q1", "", "x/q", ""),
    # A user's own questions, whatever their type and the folders above them.
    ("q1", "yesno", "x/q", ""),
    ("q1", "", "hotpotqa_vs_mine/q", ""),
    ("q1", "", "bioasq/company/handbook/q", ""),
    # A word of the file's name names the dataset.
    ("q1", "", "hotpotqa_dev", "hotpotqa"),
    ("q1", "", "dev-musique", "musique"),
    ("q1", "", "mymusiques", ""),
)
def test_dataset_is_detected_by_ids_then_by_folder_and_file(
    tmp_path: Path, question_id: str, kind: str, file: str, dataset: str
) -> None:
    path = tmp_path / f"{file}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"id": question_id, "question": "Q?", "answers": ["A"], "type": kind}))
    assert load_questions(path)[0].dataset == dataset


def test_the_sources_of_a_corpus_stay_usable(tmp_path: Path) -> None:
    passages = list(read_passages(FOLDER / "corpus.jsonl"))
    assert [passage.meta["source_split"] for passage in passages] == ["local", "both", "web"]
    # A document's own `source` names the source where a search found it.
    assert all("source" not in passage.meta for passage in passages)
    assert passages[1].meta["year"] == 1990

    assert write_jsonl(passages, tmp_path / "corpus.jsonl") == 3
    assert list(read_passages(tmp_path / "corpus.jsonl")) == passages
    lines = (tmp_path / "corpus.jsonl").read_text().splitlines()
    assert json.loads(lines[1])["source"] == "both"


@given(st.lists(QUESTIONS, min_size=1, max_size=4, unique_by=lambda question: question.id))
def test_questions_that_are_written_are_read_again(questions: list[Question]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "q.jsonl")
        nothing_answers = replace(questions[0], id=f"{questions[0].id}-none", answers=(), answerable=False)
        assert write_jsonl([*questions, nothing_answers], path) == len(questions) + 1
        assert load_questions(path) == [*questions, nothing_answers]


@given(st.lists(st.tuples(WORD.filter(lambda word: len(word.encode()) <= 512), WORD, st.none() | WORD), max_size=4))
def test_passages_that_are_written_are_read_again(rows: list[tuple[str, str, str | None]]) -> None:
    passages = [PassageRecord(key, text, title, meta={"url": "u"}).document() for key, text, title in rows]
    with TemporaryDirectory() as folder:
        path = Path(folder, "c.jsonl")
        write_jsonl(passages, path)
        assert list(read_passages(path, "jsonl")) == passages


def test_a_passage_without_a_title_is_written_without_one(tmp_path: Path) -> None:
    passages = [Document(id="a", content="A text."), Document(id="b", content="A text.", meta={"title": ""})]
    write_jsonl(passages, tmp_path / "c.jsonl")
    assert list(read_passages(tmp_path / "c.jsonl")) == passages


def test_another_form_becomes_the_own_one(tmp_path: Path) -> None:
    published = FOLDER.parents[1] / "musique" / "musique_ans_v1.0_dev.jsonl"
    write_jsonl(load_questions(published), tmp_path / "dev.jsonl")
    write_jsonl(read_passages(published), tmp_path / "corpus.jsonl")
    assert load_questions(tmp_path / "dev.jsonl") == load_questions(published)
    assert list(read_passages(tmp_path / "corpus.jsonl")) == list(read_passages(published))


def test_a_conversion_that_fails_leaves_the_earlier_file(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text("earlier")
    (tmp_path / "broken.tsv").write_text("id\ttext\ttitle\n1\tA text.\tA title\n2\n")
    with pytest.raises(ValueError, match="line 3"):
        write_jsonl(read_passages(tmp_path / "broken.tsv"), tmp_path / "c.jsonl")
    assert (tmp_path / "c.jsonl").read_text() == "earlier"
    assert {path.name for path in tmp_path.iterdir()} == {"c.jsonl", "broken.tsv"}


@for_each(
    "changes, reason",
    ({"answers": []}, "'answers' must hold an answer, or be empty if 'answerable' is false"),
    ({"answerable": False}, "'answers' must hold an answer, or be empty if 'answerable' is false"),
    ({"answerable": "no"}, "'answerable' must be true or false"),
    ({"history": [{"role": "user"}]}, "it lacks 'content'"),
    ({"answers": "A"}, "'answers' must be a list of texts"),
    ({"answers": [""]}, "'answers' must be a list of texts that are not empty"),
    ({"question": ""}, "'question' must be text, and not empty"),
    ({"question": "Who is \ud83d?"}, "'question' holds half of a surrogate pair"),
    ({"answers": ["\ud83d"]}, "'answers' holds half of a surrogate pair"),
    ({"supporting_ids": [1]}, "'supporting_ids' must be a list of texts"),
    ({"decomposition": [{}]}, "it lacks 'question'"),
    ({"evidence_triples": [["a", "b"]]}, "not enough values"),
)
def test_a_question_of_another_form_is_named(tmp_path: Path, changes: dict[str, object], reason: str) -> None:
    good = {"id": "a", "question": "Q?", "answers": ["A"]}
    (tmp_path / "q.jsonl").write_text(f"{json.dumps(good)}\n{json.dumps({**good, 'id': 'b', **changes})}\n")
    with pytest.raises(ValueError, match=f"q.jsonl, line 2: {reason}"):
        load_questions(tmp_path / "q.jsonl")


@for_each(
    "record, reason",
    ({"id": "a"}, "expected a JSON object with 'id' and 'text'"),
    ({"id": "a", "text": " "}, "'text' must be text"),
    ({"id": "", "text": "t"}, "bytes"),
)
def test_a_passage_of_another_form_is_named(tmp_path: Path, record: dict[str, str], reason: str) -> None:
    (tmp_path / "c.jsonl").write_text(json.dumps({"id": "g", "text": "Good."}) + "\n" + json.dumps(record))
    with pytest.raises(ValueError, match=f"c.jsonl, line 2: .*{reason}"):
        list(read_passages(tmp_path / "c.jsonl"))
