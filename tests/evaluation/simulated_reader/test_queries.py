"""What the simulated reader searches for."""

from __future__ import annotations

import pytest

from prefrag.components.agent.reasoner import Reasoner
from prefrag.components.state.state import Action
from prefrag.evaluation.simulated_reader.gold import load_gold
from prefrag.evaluation.simulated_reader.queries import queries
from tests.benchmark_data import DATA, DATASETS, with_data
from tests.evaluation.simulated_reader.trees_and_towns import (
    BARE,
    FACTS,
    HOPS,
    TWO_TOOLS,
    bare,
    next_queries,
    read_step,
    state,
)


class TestWhatItAsks:
    def test_sub_questions_come_one_by_one_with_the_answers_that_have_been_read(self, reader):
        assert read_step(reader(), state(HOPS)).query == "Aurora built by"
        assert read_step(reader(), state(HOPS, ["p1"])).query == "Where stands Borealis ?"
        assert read_step(reader(), state(HOPS, ["p1"], ["p5", "p2"])).query == "Corvo mayor"

    def test_a_sub_question_whose_passage_came_early_still_waits_for_the_answer_before_it(self, reader):
        assert read_step(reader(), state(HOPS, ["p2"])).query == "Aurora built by"
        assert read_step(reader(), state(HOPS, ["p2", "p1"])).query == "Corvo mayor"

    def test_facts_are_searched_by_a_subject_that_is_known(self, reader):
        assert read_step(reader(), state(FACTS)).query == "Aurora builder"
        assert read_step(reader(), state(FACTS, ["p1"])).query == "Borealis place"

    def test_otherwise_it_asks_the_question_and_then_adds_the_title_of_what_it_has_read(self, reader):
        assert read_step(reader(), state(BARE)).query == BARE
        assert read_step(reader(), state(BARE, ["p6"])).query == f"{BARE} Fir"

    def test_no_query_is_repeated_and_in_the_end_it_answers(self, reader):
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
        assert read_step(reader(), state(HOPS, [], [])).action is Action.SEARCH
        assert read_step(reader(), state(HOPS, [], [], [])).action is Action.ANSWER

    @pytest.mark.parametrize("form", ["text", "json", "tools", "tags"])
    def test_each_query_goes_to_the_first_source_and_then_to_the_next(self, reader, form: str):
        item = next_queries(reader(), state(HOPS, max_steps=9), 3, reply_format=form, tools=TWO_TOOLS)

        assert [tool for tool, _ in item] == ["Search_Local", "Search_Web", "Search_Local"]
        assert item[0][1] == item[1][1] == "Aurora built by"
        assert item[2][1] != item[0][1]

    def test_a_new_sub_question_begins_at_the_first_source_again(self, reader):
        step = read_step(reader(), state(HOPS, ["p1"]), tools=TWO_TOOLS)
        assert (step.named_source, step.query) == ("local", "Where stands Borealis ?")

    @with_data
    @pytest.mark.parametrize("split", ["train", "dev"])
    @pytest.mark.parametrize("dataset", DATASETS)
    def test_no_query_of_a_benchmark_names_what_has_not_been_read(self, dataset: str, split: str):
        gold = load_gold([str(DATA / dataset / f"{split}.jsonl")], [str(DATA / dataset / "corpus.jsonl")])
        for item in gold.values():
            secrets = [passage.title for passage in item.passages]
            secrets += [] if item.question.is_yes_no else item.question.answers
            secrets += [hop.answer for hop in item.question.decomposition]
            for number in range(min(4, len(item.passages))):
                read = item.passages[:number]
                seen = " ".join(f"{passage.title} {passage.text}" for passage in read)
                known = bare(f"{item.question.question} {seen}")
                hidden = [bare(secret) for secret in secrets if bare(secret) not in known]
                offered = list(queries(item, {passage.id for passage in read}, seen))
                assert offered, item.question
                assert [(query, secret) for query in offered for secret in hidden if secret in bare(query)] == []
