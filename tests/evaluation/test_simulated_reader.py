"""The simulated reader behind the prompts that the components really send."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.core.serialization import component_from_dict, component_to_dict
from haystack.dataclasses import ChatMessage
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.agent.answer_reviewer import AnswerReviewer
from prefrag.components.agent.follow_up_rewriter import FollowUpRewriter
from prefrag.components.agent.observation_refiner import ObservationRefiner
from prefrag.components.agent.reasoner import Reasoner
from prefrag.components.agent.self_reflector import SelfReflector
from prefrag.components.judge.model_judge import ModelJudge
from prefrag.components.judge.source_switch_judge import SourceSwitchJudge
from prefrag.components.state.state import Action, Label, RunSettings, Search, State, Step
from prefrag.evaluation.datasets import load_questions
from prefrag.evaluation.metrics import score
from prefrag.evaluation.question import Hop, Question
from prefrag.evaluation.simulated_reader import SimulatedReader
from prefrag.evaluation.simulated_reader.gold import load_gold
from prefrag.evaluation.simulated_reader.policy import is_right, queries, wrong_answer

FORMATS = ("text", "json", "guided", "tools", "tags")
TWO_TOOLS = [
    {"name": "Search_Local", "description": "The house's own.", "source": "local"},
    {"name": "Search_Web", "description": "The web.", "source": "web"},
]
DATA = Path(__file__).parents[3] / "shared" / "data" / "multihop"
DATASETS = ("hotpotqa", "2wikimultihopqa", "musique", "bioasq")
with_data = pytest.mark.skipif(not DATA.is_dir(), reason="the benchmark data is not in ../shared/data")

PASSAGES = [
    ("p1", "Aurora", "The Aurora is a log that was built by the yard Borealis."),
    ("p2", "Borealis", "Borealis, a yard, stands in Corvo."),
    ("p3", "Corvo", "Corvo is a town. Its mayor is Dora Stern."),
    ("p4", "Corvo", "Corvo is also the name of an island."),
    ("p5", "Elm", "Elms are trees."),
    ("p6", "Fir", "Firs are trees, too."),
]
QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "hops",
        "question": "Who is mayor where the Aurora was built?",
        "answers": ["Dora Stern"],
        "supporting_ids": ["p1", "p2", "p3"],
        "decomposition": [
            {"question": "Aurora >> built by", "answer": "Borealis", "supporting_id": "p1"},
            {"question": "Where stands #1 ?", "answer": "Corvo", "supporting_id": "p2"},
            {"question": "#2 >> mayor", "answer": "Dora Stern", "supporting_id": "p3"},
        ],
    },
    {
        "id": "facts",
        "question": "In which town stands the maker of the Aurora?",
        "answers": ["Corvo"],
        "supporting_ids": ["p1", "p2"],
        "evidence_triples": [["Aurora", "builder", "Borealis"], ["Borealis", "place", "Corvo"]],
    },
    {"id": "bare", "question": "What are the elm and the Fir?", "answers": ["trees"], "supporting_ids": ["p5", "p6"]},
    {"id": "yes", "question": "Are elms trees?", "answers": ["yes"], "supporting_ids": ["p5", "p6"]},
]
HOPS, FACTS, BARE, YES = (question["question"] for question in QUESTIONS)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    questions, corpus = tmp_path / "dev.jsonl", tmp_path / "corpus.jsonl"
    questions.write_text("\n".join(map(json.dumps, QUESTIONS)))
    lines = [{"id": key, "title": title, "text": text} for key, title, text in PASSAGES]
    corpus.write_text("\n".join(map(json.dumps, lines)))
    return {"questions": str(questions), "corpus": str(corpus)}


@pytest.fixture
def reader(files: dict[str, str]) -> Callable[..., SimulatedReader]:
    return lambda **settings: SimulatedReader(**files, **settings)


def document(key: str, source: str = "local") -> Document:
    title, text = next((title, text) for name, title, text in PASSAGES if name == key)
    return Document(id=key, content=text, meta={"title": title, "source": source})


def filler(number: int) -> Document:
    return Document(id=f"x{number}", content=f"Nothing, {number} times.", meta={"title": f"Nothing {number}"})


def state(question: str, *shown: Sequence[str], max_steps: int = 3) -> State:
    """A run whose searches have shown these passages, with queries of no meaning."""
    settings = RunSettings(sources=("local", "web"), preferred="local", max_steps=max_steps, external=("web",))
    steps = []
    for number, keys in enumerate(shown, start=1):
        documents = tuple(document(key) for key in keys)
        query = f"query {number}"
        reply = f"Thought: I look it up.\nAction: Search_Engine\nAction Input: {query}"
        found = (Search("local", query, documents),)
        note = "" if documents else "No passages were found."
        steps.append(
            Step(
                Action.SEARCH,
                reply,
                tool="Search_Engine",
                query=query,
                searches=found,
                source="local",
                documents=documents,
                observed=True,
                note=note,
            )
        )
    return State(question, settings, steps=tuple(steps))


def said(reader: SimulatedReader, at: State, form: str = "text", **settings: Any) -> Step:
    """What the reasoner makes of the reader's reply."""
    return Reasoner(reader, reply_format=form, **settings).run(state=at)["state"].step  # type: ignore[arg-type]


def next_queries(reader: SimulatedReader, at: State, many: int, **settings: Any) -> list[tuple[str, str]]:
    """The actions and queries of a run in which nothing more is found."""
    asked = []
    for _ in range(many):
        at = Reasoner(reader, **settings).run(state=at)["state"]
        asked.append((at.step.tool, at.step.query))
        at = at.with_last(observed=True, note="No passages were found.", source="local")
    return asked


class TestWhatItAsks:
    def test_sub_questions_come_one_by_one_with_the_answers_that_have_been_read(self, reader):
        assert said(reader(), state(HOPS)).query == "Aurora built by"
        assert said(reader(), state(HOPS, ["p1"])).query == "Where stands Borealis ?"
        assert said(reader(), state(HOPS, ["p1"], ["p5", "p2"])).query == "Corvo mayor"

    def test_a_sub_question_whose_passage_came_early_still_waits_for_the_answer_before_it(self, reader):
        assert said(reader(), state(HOPS, ["p2"])).query == "Aurora built by"
        assert said(reader(), state(HOPS, ["p2", "p1"])).query == "Corvo mayor"

    def test_facts_are_asked_by_a_subject_that_is_known(self, reader):
        assert said(reader(), state(FACTS)).query == "Aurora builder"
        assert said(reader(), state(FACTS, ["p1"])).query == "Borealis place"

    def test_otherwise_it_asks_the_question_and_then_adds_the_title_of_what_it_has_read(self, reader):
        assert said(reader(), state(BARE)).query == BARE
        assert said(reader(), state(BARE, ["p6"])).query == f"{BARE} Fir"

    def test_no_query_is_asked_twice_and_in_the_end_it_answers(self, reader):
        at = state(BARE, max_steps=50)
        queries: list[str] = []
        for _ in range(50):
            at = Reasoner(reader()).run(state=at)["state"]
            if at.step.action is Action.ANSWER:
                break
            queries.append(at.step.query.lower())
            at = at.with_last(observed=True, note="No passages were found.", source="local")

        assert at.step.action is Action.ANSWER
        assert len(set(queries)) == len(queries) >= 4

    def test_a_name_that_has_not_been_read_is_in_no_query(self, reader):
        for _, query in next_queries(reader(), state(HOPS, max_steps=50), 8):
            assert not {"borealis", "corvo", "stern"} & set(query.lower().split())

    def test_it_answers_when_the_searches_that_the_prompt_allows_are_used_up(self, reader):
        assert said(reader(), state(HOPS, [], [])).action is Action.SEARCH
        assert said(reader(), state(HOPS, [], [], [])).action is Action.ANSWER

    @pytest.mark.parametrize("form", ["text", "json", "tools", "tags"])
    def test_each_query_goes_to_the_first_source_and_then_to_the_next(self, reader, form: str):
        asked = next_queries(reader(), state(HOPS, max_steps=9), 3, reply_format=form, tools=TWO_TOOLS)

        assert [tool for tool, _ in asked] == ["Search_Local", "Search_Web", "Search_Local"]
        assert asked[0][1] == asked[1][1] == "Aurora built by"
        assert asked[2][1] != asked[0][1]

    def test_a_new_sub_question_begins_at_the_first_source_again(self, reader):
        step = said(reader(), state(HOPS, ["p1"]), tools=TWO_TOOLS)
        assert (step.named_source, step.query) == ("local", "Where stands Borealis ?")

    @with_data
    @pytest.mark.parametrize("split", ["train", "dev"])
    @pytest.mark.parametrize("dataset", DATASETS)
    def test_no_query_of_a_benchmark_names_what_has_not_been_read(self, dataset: str, split: str):
        gold = load_gold([str(DATA / dataset / f"{split}.jsonl")], [str(DATA / dataset / "corpus.jsonl")])
        for asked in gold.values():
            secrets = [passage.title for passage in asked.passages]
            secrets += [] if asked.question.is_yes_no else asked.question.answers
            secrets += [hop.answer for hop in asked.question.decomposition]
            for number in range(min(4, len(asked.passages))):
                read = asked.passages[:number]
                seen = " ".join(f"{passage.title} {passage.text}" for passage in read)
                known = bare(f"{asked.question.question} {seen}")
                hidden = [bare(secret) for secret in secrets if bare(secret) not in known]
                wishes = list(queries(asked, {passage.id for passage in read}, seen))
                assert wishes, asked.question
                assert [(wish, secret) for wish in wishes for secret in hidden if secret in bare(wish)] == []


class TestWhatItAnswers:
    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("must_answer", [True, False])
    def test_rightly_when_all_gold_passages_have_been_shown(self, reader, form: str, must_answer: bool):
        step = said(reader(), state(HOPS, ["p2", "p5"], ["p3", "p1"]), form, must_answer=must_answer)

        assert (step.action, step.answer) == (Action.ANSWER, "Dora Stern")
        assert bool(step.thought) is not must_answer, "a forced answer goes on where the prompt ends, in every format"
        assert step.label is (None if form == "tags" else Label.CORRECT)

    @pytest.mark.parametrize("form", FORMATS)
    def test_wrongly_when_one_is_missing_and_says_so(self, reader, form: str):
        at = state(HOPS, ["p1", "p2"])
        step = said(reader(), at, form, must_answer=True)
        scores = score(question(0), {"answer": step.answer})

        assert step.action is Action.ANSWER
        assert [scores[name] for name in ("acc", "acc_word", "em", "f1")] == [0, 0, 0, 0]
        assert step.label is (None if form == "tags" else Label.INCORRECT)

    def test_a_passage_of_the_same_title_or_a_title_alone_is_not_the_passage(self, reader):
        assert said(reader(), state(HOPS, ["p1", "p2", "p4"]), must_answer=True).answer != "Dora Stern"
        emptied = state(HOPS, ["p1", "p2"], ["p3"])
        emptied = emptied.with_last(documents=(replace(document("p3"), content=""),))
        assert said(reader(), emptied, must_answer=True).answer != "Dora Stern"

    def test_the_same_text_under_another_title_is_not_the_passage(self, reader):
        at = state(HOPS, ["p1", "p2"], ["p3"])
        other = Document(id="y", content=document("p3").content, meta={"title": "Dishonoured"})
        assert said(reader(), at.with_last(documents=(other,)), must_answer=True).answer != "Dora Stern"

    def test_one_passage_is_enough_for_yes_or_no_and_without_one_it_says_the_opposite(self, reader):
        assert said(reader(), state(YES, ["p6"])).answer == "yes"
        assert said(reader(), state(YES, ["p1"]), must_answer=True).answer == "no"

    def test_nothing_shown_is_never_enough_also_for_a_question_without_gold_passages(self, files):
        with Path(files["questions"]).open("a") as lines:
            lines.write('\n{"id": "q", "question": "Why?", "answers": ["so"], "supporting_ids": []}')
        assert said(SimulatedReader(**files), state("Why?"), must_answer=True).answer != "so"

    @pytest.mark.parametrize("form", ["text", "json"])
    def test_the_prompt_that_answers_at_once_is_answered(self, reader, form: str):
        once = {"must_answer": True, "prompt": "answer_once", "self_evaluation": False}
        asked = Step(Action.SEARCH, query=BARE, documents=(document("p5"), document("p6")), observed=True)
        held = replace(state(BARE), steps=(asked,))

        assert said(reader(), held, form, **once).answer == "trees"
        assert said(reader(), state(BARE), form, **once).answer != "trees"

    def test_irrelevant_passages_spoil_answers_at_the_rate_that_is_set(self, reader):
        held = state(BARE, ["p5", "p6"])
        noisy = held.with_last(documents=(*held.step.documents, *map(filler, range(3))))
        right = [said(reader(distraction=0.2, seed=seed), noisy).answer == "trees" for seed in range(600)]

        assert sum(right) / len(right) == pytest.approx(0.8**3, abs=0.05)
        assert all(said(reader(distraction=1.0, seed=seed), held).answer == "trees" for seed in range(20))
        assert said(reader(distraction=1.0), noisy).answer != "trees"

    @pytest.mark.parametrize("form", FORMATS)
    def test_an_irrelevant_passage_counts_wherever_it_stands_in_every_format(self, reader, form: str):
        for shown in ((["p5", "p1"], ["p2"]), (["p1", "p5"], ["p2"]), (["p1"], ["p5", "p2"]), (["p1"], ["p2", "p5"])):
            assert said(reader(distraction=1.0), state(FACTS, *shown), form, must_answer=True).answer != "Corvo"

    def test_an_answer_once_spoiled_stays_so_however_much_more_is_shown(self, reader):
        def right(seed: int, gold: list[str], noise: int) -> bool:
            held = state(BARE, gold)
            shown = held.with_last(documents=(*held.step.documents, *map(filler, range(noise))))
            return said(reader(distraction=0.2, seed=seed), shown, must_answer=True).answer == "trees"

        for seed in range(60):
            by_noise = [right(seed, ["p5", "p6"], noise) for noise in range(8)]
            assert by_noise == sorted(by_noise, reverse=True)
        assert len({right(seed, ["p5", "p6"], 3) for seed in range(60)}) == 2

    def test_methods_that_show_a_question_as_much_noise_get_the_same_answer(self, reader):
        def answers(*shown: Sequence[str]) -> list[str]:
            at = state(FACTS, *shown)
            return [said(reader(distraction=0.4, seed=seed), at, must_answer=True).answer for seed in range(40)]

        one_after_another = answers(["p1", "p5"], ["p2", "p6"])

        assert one_after_another == answers(["p4", "p2", "p1", "p3"])
        assert len(set(one_after_another)) > 1

    @given(
        st.lists(st.text(max_size=30).filter(lambda text: any(map(str.isalnum, text))), min_size=1, max_size=6),
        st.integers(0, 9),
    )
    def test_a_wrong_answer_scores_nowhere_whatever_the_right_ones_are(self, answers: list[str], seed: int):
        asked = Question("q", "Who?", tuple(answers))
        wrong = wrong_answer(asked, seed)

        scores = score(asked, {"answer": wrong})
        assert {name: value for name, value in scores.items() if value} == {}
        assert wrong
        assert not is_right(asked, wrong)
        assert is_right(asked, answers[0])

    @given(st.sampled_from(["yes", "no", "Yes", "NO"]), st.integers(0, 9))
    def test_a_wrong_yes_or_no_scores_nowhere(self, answer: str, seed: int):
        scores = score(
            Question("q", "Is it?", (answer,)), {"answer": wrong_answer(Question("q", "?", (answer,)), seed)}
        )
        assert not any(scores.values())

    @with_data
    @pytest.mark.parametrize("dataset", DATASETS)
    def test_it_cannot_answer_any_question_of_the_dev_sets_from_nothing(self, dataset: str):
        folder = DATA / dataset
        reader = SimulatedReader(str(folder / "dev.jsonl"), str(folder / "corpus.jsonl"))
        for asked in load_questions(folder / "dev.jsonl"):
            answer = said(reader, state(asked.question, []), must_answer=True).answer
            scores = score(asked, {"answer": answer})
            assert not any(scores[name] for name in ("acc", "acc_word", "em", "f1")), (asked.question, answer)


class TestAsJudgeAndReviewer:
    @pytest.mark.parametrize(
        ("known", "new", "status"),
        [
            (["p5"], ["p1", "p6"], True),
            (["p1"], ["p2"], True),
            (["p1"], ["p1", "p5"], False),
            (["p1"], ["p4"], False),
            ([], ["p5", "p6"], False),
        ],
    )
    def test_a_verdict_is_true_exactly_when_a_gold_passage_is_new(self, reader, known, new, status: bool):
        judge = SourceSwitchJudge(["local", "web"], ModelJudge(reader()), judge_first_step=True)
        at = state(HOPS, known, new).with_last(documents=(), source=None, observed=False)
        verdict = next(iter(judge.run(state=at).values())).step.verdict

        assert (verdict.status, verdict.parsed, verdict.judged_by) == (status, True, "model")

    def test_verdicts_err_at_the_rate_that_is_set(self, reader):
        at = state(HOPS, ["p5"], ["p1"]).with_last(documents=(), source=None, observed=False)
        wrong = 0
        for seed in range(600):
            judge = SourceSwitchJudge(["local", "web"], ModelJudge(reader(judge_error=0.3, seed=seed)))
            wrong += not next(iter(judge.run(state=at).values())).step.verdict.status

        assert wrong / 600 == pytest.approx(0.3, abs=0.05)

    @pytest.mark.parametrize(("answer", "label"), [("Dora Stern", Label.CORRECT), ("qqq", Label.INCORRECT)])
    def test_an_answer_is_labelled_by_whether_it_is_right(self, reader, answer: str, label: Label):
        at = state(HOPS, ["p1"]).with_step(Step(Action.ANSWER, f"Final Answer: {answer}", answer=answer))
        reflected = next(iter(SelfReflector("call", reader()).run(state=at).values()))
        reviewed = next(iter(AnswerReviewer(["local", "web"], reader(), "web").run(state=at).values()))

        assert reflected.step.label is reviewed.step.label is label

    def test_labels_err_at_the_rate_that_is_set_alike_in_reply_reflection_and_review(self, reader):
        at = state(BARE, ["p5", "p6"])
        wrong = 0
        for seed in range(400):
            doubting = reader(reflection_error=0.2, seed=seed)
            answered = Reasoner(doubting).run(state=at)["state"]
            unlabelled = answered.with_last(label=None)
            reflected = next(iter(SelfReflector("call", doubting).run(state=unlabelled).values()))
            reviewed = next(iter(AnswerReviewer(["local", "web"], doubting, "web").run(state=unlabelled).values()))
            assert answered.step.label is reflected.step.label is reviewed.step.label
            wrong += answered.step.label is Label.INCORRECT

        assert wrong / 400 == pytest.approx(0.2, abs=0.06)

    def test_a_summary_keeps_the_passages_that_matter_and_they_still_count(self, reader):
        at = state(BARE, ["p5", "p1", "p2", "p3", "p4"], ["p6"])
        refined = ObservationRefiner(reader(), threshold=1).run(state=at)["state"]
        summary = refined.steps[0].refined

        assert summary is not None
        assert "Elms are trees. [1]" in summary.content
        assert "Aurora" not in summary.content
        assert said(reader(distraction=1.0), refined).answer == "trees"

    def test_a_follow_up_is_given_back(self, reader):
        at = replace(state(HOPS), history=(("user", "What is the Aurora?"), ("assistant", "A log.")))
        assert FollowUpRewriter(reader()).run(state=at)["state"].question == HOPS


class TestAsComponent:
    def test_it_survives_yaml(self, reader):
        original = reader(judge_error=0.1, reflection_error=0.2, distraction=0.3, seed=4, latency=0.0)
        data = component_to_dict(original, "reader")
        again = component_from_dict(SimulatedReader, json.loads(json.dumps(data)), "reader")

        assert again.to_dict() == original.to_dict() == data

    def test_its_reply_says_that_it_is_simulated_and_counts_tokens(self, reader):
        reply = asyncio.run(reader().run_async([ChatMessage.from_user(f"Last question: {BARE}")], asks("question")))
        meta = reply["replies"][0].meta

        assert (meta["model"], meta["simulated"]) == ("simulated", True)
        assert meta["usage"]["prompt_tokens"] > 0 < meta["usage"]["completion_tokens"]

    @pytest.mark.parametrize(
        "settings",
        [{"judge_error": 1.1}, {"reflection_error": -0.1}, {"distraction": 2}, {"latency": -1}, {"context_window": 0}],
    )
    def test_a_number_out_of_range_is_refused(self, reader, settings: dict[str, Any]):
        with pytest.raises(ValueError, match=next(iter(settings))):
            reader(**settings)

    def test_an_absent_file_and_a_corpus_of_other_questions_are_named(self, files, tmp_path: Path):
        with pytest.raises(FileNotFoundError, match="nowhere.jsonl"):
            SimulatedReader("nowhere.jsonl", files["corpus"]).warm_up()
        other = tmp_path / "other.jsonl"
        other.write_text('{"id": "z", "title": "Z", "text": "Zed."}')
        with pytest.raises(ValueError, match=r"None of the 5 gold passages is in .*other\.jsonl"):
            SimulatedReader(files["questions"], str(other)).warm_up()
        with pytest.raises(ValueError, match="need a file"):
            SimulatedReader([], files["corpus"])

    def test_of_two_passages_with_one_id_the_first_counts_as_in_the_index(self, files):
        corpus = Path(files["corpus"])
        first, rest = corpus.read_text().split("\n", 1)
        corpus.write_text(f"{first}\n{json.dumps({**json.loads(first), 'text': 'Another text.'})}\n{rest}")

        gold = load_gold([files["questions"]], [files["corpus"]])

        assert {passage.text for one in gold.values() for passage in one.passages if passage.id == "p1"} == {
            PASSAGES[0][2]
        }

    @pytest.mark.parametrize("shown", ["Bru\u0308cke\nThe \ufb01nance house.", "Br\u00fccke\nThe finance house."])
    def test_a_gold_passage_is_known_in_the_form_of_its_corpus_and_in_that_of_the_index(self, files, shown: str):
        corpus = Path(files["corpus"])
        first, rest = corpus.read_text().split("\n", 1)
        written = {**json.loads(first), "title": "Bru\u0308cke", "text": "The \ufb01nance house."}
        corpus.write_text(f"{json.dumps(written)}\n{rest}")

        gold = load_gold([files["questions"]], [files["corpus"]])

        assert gold[HOPS].shown(f"[1] {shown}").gold == {"p1": "1"}

    def test_the_form_of_the_questions_may_be_named(self, files):
        with pytest.raises(ValueError, match="expected"):
            SimulatedReader(**files, format="hotpotqa").warm_up()
        SimulatedReader(**files, format="jsonl").warm_up()

    def test_an_unknown_question_and_an_unknown_prompt_are_told(self, reader):
        with pytest.raises(Exception, match="does not know the question"):
            said(reader(), state("Who knows?"))
        with pytest.raises(ValueError, match="does not know what this prompt asks for"):
            reader().run([ChatMessage.from_user(f"Question: {HOPS}\nHm?")])


def bare(text: str) -> str:
    """The words of a text, each between two blanks."""
    return " " + re.sub(r"\W+", " ", text.lower()).strip() + " "


def asks(name: str) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": {}}}}


def question(number: int) -> Question:
    data = dict(QUESTIONS[number])
    hops = tuple(Hop(**hop) for hop in data.pop("decomposition", ()))
    return Question(
        data["id"],
        data["question"],
        tuple(data["answers"]),
        supporting_ids=tuple(data["supporting_ids"]),
        decomposition=hops,
    )
