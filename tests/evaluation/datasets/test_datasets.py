"""The published datasets are read into one format."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.evaluation.datasets import FORMATS, detect, load_questions, read_passages
from tests.benchmark_data import DATA, with_data
from tests.for_each import for_each

PUBLISHED = Path(__file__).parent / "published"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=10,
)
# The keys of all formats, so that records get far before an error is found.
KEYS = (
    *("_id", "id", "question", "answer", "answers", "type", "context", "supporting_facts", "evidences", "answer_id"),
    *("paragraphs", "question_decomposition", "question_id", "question_text", "answers_objects", "contexts", "title"),
    *("text", "sentences", "paragraph_text", "is_supporting", "idx", "spans", "supporting_ids", "decomposition"),
)


@for_each(
    "file, format",
    ("own/musique/dev.jsonl", "jsonl"),
    ("own/musique/corpus.jsonl", "jsonl"),
    ("hotpotqa/hotpot_dev_distractor_v1.json", "hotpotqa"),
    ("hotpotqa/hotpot_dev_fullwiki_v1.json", "hotpotqa"),
    ("hotpotqa/abstracts", "wiki-paragraphs"),
    ("hotpotqa/abstracts/AA/wiki_00", "wiki-paragraphs"),
    ("2wikimultihopqa/dev.json", "2wikimultihopqa"),
    ("2wikimultihopqa/para_with_hyperlink.jsonl", "wiki-paragraphs"),
    ("musique/musique_ans_v1.0_dev.jsonl", "musique"),
    ("musique/musique_full_v1.0_dev.jsonl", "musique"),
    ("ircot/hotpotqa/test_subsampled.jsonl", "ircot"),
    ("ircot/2wikimultihopqa/test_subsampled.jsonl", "ircot"),
    ("ircot/musique/test_subsampled.jsonl", "ircot"),
    ("bioasq/11B1_golden.json", "bioasq"),
    ("beir/corpus.jsonl", "beir"),
    ("dpr/psgs_w100.tsv", "dpr"),
)
def test_each_form_is_detected_by_name_and_first_record(file: str, format: str) -> None:
    assert detect(PUBLISHED / file) == format


@for_each("text", "Who built\nthe Aurora?", " Who built \r\n\n the Aurora?\n", "Who built\u2028the Aurora?")
def test_a_question_is_on_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "q.jsonl").write_text(json.dumps({"id": "q", "question": text, "answers": ["Borealis"]}))
    assert load_questions(tmp_path / "q.jsonl")[0].question == "Who built the Aurora?"


@for_each("content", "", "[]", "{}", "[1]", '{"a": 1}', "plain text", "[{}]", '{"id": "a", "text": 5}', "[", "\x00")
def test_a_file_in_no_known_form_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(ValueError, match=r"x\.json"):
        load_questions(tmp_path / "x.json")


def test_a_missing_file_and_an_unknown_format_are_named() -> None:
    for read in (load_questions, lambda path: list(read_passages(path))):
        with pytest.raises(FileNotFoundError, match="no file or folder .*nowhere"):
            read("nowhere.json")
    with pytest.raises(ValueError, match="no format 'squad': choose auto or one of jsonl"):
        load_questions(PUBLISHED / "musique/musique_ans_v1.0_dev.jsonl", format="squad")


@for_each("file", "beir/corpus.jsonl", "dpr/psgs_w100.tsv", "hotpotqa/abstracts")
def test_a_corpus_has_no_questions(file: str) -> None:
    with pytest.raises(ValueError, match="has passages but no questions"):
        load_questions(PUBLISHED / file)


def test_limit_takes_the_first_questions_and_reads_no_further(tmp_path: Path) -> None:
    file = PUBLISHED / "hotpotqa/hotpot_dev_distractor_v1.json"
    assert [question.id for question in load_questions(file, limit=1)] == ["5a7f00b455429930675135f1"]
    assert len(load_questions(file, limit=10)) == 2
    with pytest.raises(ValueError, match="limit must be at least 1, not 0"):
        load_questions(file, limit=0)
    lines = (PUBLISHED / "musique/musique_ans_v1.0_dev.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "m.jsonl").write_text(lines[0] + "broken")
    assert len(load_questions(tmp_path / "m.jsonl", limit=1)) == 1


def test_a_question_that_comes_twice_is_refused(tmp_path: Path) -> None:
    line = json.dumps({"id": "a", "question": "Q?", "answers": ["A"]}) + "\n"
    (tmp_path / "q.jsonl").write_text(line + line)
    with pytest.raises(ValueError, match="holds the question 'a' twice"):
        load_questions(tmp_path / "q.jsonl")


@pytest.mark.parametrize(
    ("questions", "corpus"),
    [
        ("hotpotqa/hotpot_dev_distractor_v1.json", "hotpotqa/hotpot_dev_distractor_v1.json"),
        # The full-wiki contexts lack a gold passage, which the dump of Wikipedia has under the same id.
        ("hotpotqa/hotpot_dev_fullwiki_v1.json", "hotpotqa/abstracts"),
        ("hotpotqa/hotpot_dev_fullwiki_v1.json", "hotpotqa/hotpot_dev_distractor_v1.json"),
        ("ircot/hotpotqa/test_subsampled.jsonl", "hotpotqa/abstracts"),
        ("ircot/hotpotqa/test_subsampled.jsonl", "ircot/hotpotqa/test_subsampled.jsonl"),
        ("2wikimultihopqa/dev.json", "2wikimultihopqa/dev.json"),
        ("ircot/2wikimultihopqa/test_subsampled.jsonl", "2wikimultihopqa/para_with_hyperlink.jsonl"),
        ("musique/musique_ans_v1.0_dev.jsonl", "musique/musique_ans_v1.0_dev.jsonl"),
        ("musique/musique_ans_v1.0_dev.jsonl", "musique/musique_ans_v1.0_test.jsonl"),
        ("ircot/musique/test_subsampled.jsonl", "musique/musique_full_v1.0_dev.jsonl"),
        ("bioasq/11B1_golden.json", "bioasq/11B1_golden.json"),
    ],
)
def test_questions_name_their_gold_passages_as_the_corpus_does(questions: str, corpus: str, abstracts: Path) -> None:
    path = abstracts if corpus == "hotpotqa/abstracts" else PUBLISHED / corpus
    ids = {passage.id for passage in read_passages(path)}
    question = load_questions(PUBLISHED / questions)[0]
    assert question.supporting_ids
    assert set(question.supporting_ids) <= ids


@for_each(
    "file",
    "hotpotqa/hotpot_dev_distractor_v1.json",
    "2wikimultihopqa/dev.json",
    "musique/musique_full_v1.0_dev.jsonl",
    "ircot/musique/test_subsampled.jsonl",
    "bioasq/11B1_golden.json",
)
def test_a_passage_that_questions_share_is_given_once(file: str) -> None:
    passages = list(read_passages(PUBLISHED / file))
    assert len({passage.id for passage in passages}) == len(passages)
    shipped = {candidate for question in load_questions(PUBLISHED / file) for candidate in question.candidate_ids}
    assert shipped <= {passage.id for passage in passages}


@for_each(
    "ircot, own",
    ("ircot/hotpotqa/test_subsampled.jsonl", "hotpotqa/hotpot_dev_distractor_v1.json"),
    ("ircot/2wikimultihopqa/test_subsampled.jsonl", "2wikimultihopqa/dev.json"),
    ("ircot/musique/test_subsampled.jsonl", "musique/musique_ans_v1.0_dev.jsonl"),
)
def test_the_same_passage_has_the_same_text_in_either_release(ircot: str, own: str) -> None:
    texts = {passage.id: (passage.meta["title"], passage.content) for passage in read_passages(PUBLISHED / own)}
    for passage in read_passages(PUBLISHED / ircot):
        assert texts[passage.id] == (passage.meta["title"], passage.content)


@given(
    st.lists(st.dictionaries(st.sampled_from(KEYS), JSON | st.dictionaries(st.sampled_from(KEYS), JSON)), max_size=2),
    st.sampled_from(sorted(FORMATS)),
    st.booleans(),
)
def test_whatever_a_record_holds_it_is_read_or_named(records: list[Any], format: str, array: bool) -> None:
    content = json.dumps(records) if array else "\n".join(map(json.dumps, records))
    with TemporaryDirectory() as folder:
        path = Path(folder, "any.json")
        path.write_text(json.dumps({"questions": records}) if format == "bioasq" else content)
        for read in (load_questions, lambda *arguments: list(read_passages(*arguments))):
            problem = ""
            try:
                read(path, format)
            except ValueError as error:
                problem = str(error)
            assert not problem or "any.json" in problem


@given(
    st.binary(max_size=200), st.sampled_from([".json", ".jsonl", ".tsv", ".tsv.gz", ".json.bz2", ".tar.bz2", ".tar"])
)
def test_whatever_a_file_holds_it_is_read_or_named(content: bytes, suffix: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, f"any{suffix}")
        path.write_bytes(content)
        for read in (load_questions, lambda path: list(read_passages(path))):
            with pytest.raises(ValueError, match="any"):
                read(path)


@with_data
@pytest.mark.parametrize(
    ("dataset", "split", "questions", "passages"),
    [
        ("hotpotqa", "dev", 100, 2960),
        ("2wikimultihopqa", "train", 500, 9616),
        ("musique", "dev", 100, 5021),
        ("bioasq", "dev", 154, 13449),
    ],
)
def test_the_benchmark_data_is_read_whole(dataset: str, split: str, questions: int, passages: int) -> None:
    read = load_questions(DATA / dataset / f"{split}.jsonl")
    ids = {passage.id for passage in read_passages(DATA / dataset / "corpus.jsonl")}
    assert (len(read), len(ids)) == (questions, passages)
    assert {question.dataset for question in read} == {dataset}
    assert all(set(question.supporting_ids) <= ids for question in read)
