"""What the simulated reader searches for."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.reasoner.reasoner import Reasoner
from prefrag.components.state.state import Action
from prefrag.evaluation.simulated_reader.gold import GoldQuestion, Passage, load_gold
from prefrag.evaluation.simulated_reader.queries import queries
from tests.benchmark_data import DATA, DATASETS, with_data
from tests.evaluation.simulated_reader.trees_and_towns import (
    AT_A_RATE,
    BARE,
    FACTS,
    HOPS,
    PASSAGES,
    TWO_TOOLS,
    bare,
    next_queries,
    question,
    read_step,
    state,
)
from tests.for_each import for_each


class TestWhatItAsks:
    def test_sub_questions_come_in_turn_with_the_answers_so_far(self, reader):
        """Also if a passage came early."""

        assert read_step(reader(), state(HOPS)).query == "Aurora built by"
        assert read_step(reader(), state(HOPS, ["p1"])).query == "Where stands Borealis ?"
        assert read_step(reader(), state(HOPS, ["p1"], ["p5", "p2"])).query == "Corvo mayor"

        assert read_step(reader(), state(HOPS, ["p2"])).query == "Aurora built by"
        assert read_step(reader(), state(HOPS, ["p2", "p1"])).query == "Corvo mayor"

    def test_facts_are_searched_by_a_subject_or_question_and_title(self, reader):
        """The subject was read before; the title is that of what was read."""

        assert read_step(reader(), state(FACTS)).query == "Aurora builder"
        assert read_step(reader(), state(FACTS, ["p1"])).query == "Borealis place"

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

    def test_reader_answers_when_the_allowed_searches_are_used_up(self, reader):
        assert read_step(reader(), state(HOPS, [], [])).action is Action.SEARCH
        assert read_step(reader(), state(HOPS, [], [], [])).action is Action.ANSWER

    @AT_A_RATE
    def test_reader_errs_about_enough_at_the_set_rate_after_a_search(self, reader, seeds: int, off: float):
        erring = [reader(stopping_error=0.3, seed=seed) for seed in range(seeds)]
        begun, lacking, enough = (
            [read_step(simulated, state(FACTS, *shown)).action for simulated in erring]
            for shown in ([], [["p1"]], [["p1", "p2"]])
        )

        assert set(begun) == {Action.SEARCH}
        assert lacking.count(Action.ANSWER) / seeds == pytest.approx(0.3, abs=off)
        assert enough.count(Action.SEARCH) / seeds == pytest.approx(0.3, abs=off)

    @for_each("form", "text", "json", "tools")
    def test_query_goes_to_the_first_source_and_then_to_the_next(self, reader, form: str):
        first = reader(source_choice="first")
        item = next_queries(first, state(HOPS, max_steps=9), 3, reply_format=form, tools=TWO_TOOLS)

        assert [tool for tool, _ in item] == ["Search_Local", "Search_Web", "Search_Local"]
        assert item[0][1] == item[1][1] == "Aurora built by"
        assert item[2][1] != item[0][1]

    def test_a_new_sub_question_begins_at_the_first_source_again(self, reader):
        step = read_step(reader(source_choice="first"), state(HOPS, ["p1"]), tools=TWO_TOOLS)
        assert (step.named_source, step.query) == ("local", "Where stands Borealis ?")

    @with_data
    @pytest.mark.parametrize("kind", ["dataset", "alike"])
    @pytest.mark.parametrize("split", ["train", "dev"])
    @pytest.mark.parametrize("dataset", DATASETS)
    def test_no_query_of_a_benchmark_names_what_has_not_been_read(self, dataset: str, split: str, kind: Any):
        gold = load_gold([str(DATA / dataset / f"{split}.jsonl")], [str(DATA / dataset / "corpus.jsonl")])
        for item in gold.values():
            secrets = [passage.title for passage in item.passages]
            secrets += [] if item.question.is_yes_no else item.question.answers
            if kind == "dataset":
                secrets += [hop.answer for hop in item.question.decomposition]
            for number in range(min(4, len(item.passages))):
                read = item.passages[:number]
                seen = " ".join(f"{passage.title} {passage.text}" for passage in read)
                known = bare(f"{item.question.question} {seen}")
                hidden = [bare(secret) for secret in secrets if bare(secret) not in known]
                offered = list(queries(item, {passage.id for passage in read}, seen, kind))
                assert offered, item.question
                assert [(query, secret) for query in offered for secret in hidden if secret in bare(query)] == []


class TestWhichSource:
    def named(self, reader, at, **settings: Any) -> list[str]:
        return [tool for tool, _ in next_queries(reader, at, 4, tools=settings.pop("tools", TWO_TOOLS), **settings)]

    def test_the_last_one_is_the_first_of_the_tools_turned_around(self, reader):
        at = state(HOPS, max_steps=9)
        turned = self.named(reader(source_choice="first"), at, tools=TWO_TOOLS[::-1])

        assert self.named(reader(source_choice="last"), at) == turned
        assert turned[:2] == ["Search_Web", "Search_Local"]

    def test_drawn_source_is_the_same_in_any_order_of_the_tools(self, reader):
        at = state(HOPS, max_steps=9)
        for seed in range(10):
            drawn = reader(seed=seed)
            assert self.named(drawn, at) == self.named(drawn, at, tools=TWO_TOOLS[::-1])

    @pytest.mark.slow
    def test_drawn_source_follows_step_question_and_seed(self, reader):
        first = [self.named(reader(seed=seed), state(HOPS, max_steps=9))[0] for seed in range(60)]
        later = [read_step(reader(seed=seed), state(HOPS, ["p1"]), tools=TWO_TOOLS).tool for seed in range(60)]

        assert 15 < first.count("Search_Web") < 45
        assert 15 < later.count("Search_Web") < 45
        assert first != later

    def test_drawn_source_without_results_passes_the_query_on(self, reader):
        for seed in range(10):
            (first, query), (other, again), *_ = next_queries(
                reader(seed=seed), state(HOPS, max_steps=9), 3, tools=TWO_TOOLS
            )
            assert {first, other} == {"Search_Local", "Search_Web"}
            assert query == again == "Aurora built by"

    @for_each(
        "question, shown, named",
        (HOPS, [], "Search_Local"),
        (HOPS, ["p1"], "Search_Web"),
        (HOPS, ["p1", "p2"], "Search_Local"),
        (FACTS, ["p1"], "Search_Web"),
        (BARE, [], "Search_Local"),
        (BARE, ["p5"], "Search_Web"),
    )
    def test_an_oracle_names_the_source_of_what_its_query_is_after(self, reader, question, shown, named: str):
        assert read_step(reader(source_choice="oracle"), state(question, shown), tools=TWO_TOOLS).tool == named

    @AT_A_RATE
    def test_the_choice_errs_at_the_rate_that_is_set(self, reader, seeds: int, off: float):
        erring = [reader(source_choice="oracle", source_error=0.3, seed=seed) for seed in range(seeds)]
        named = [read_step(simulated, state(HOPS, ["p1"]), tools=TWO_TOOLS).tool for simulated in erring]

        assert named.count("Search_Local") / seeds == pytest.approx(0.3, abs=off)

    def test_new_query_comes_first_and_else_the_same_goes_elsewhere(self, reader):
        renewing = reader(source_choice="first", second_try="query")
        asked = next_queries(renewing, state(HOPS, max_steps=50), 30, tools=TWO_TOOLS)
        local, web = ([query for tool, query in asked if tool == name] for name in ("Search_Local", "Search_Web"))

        assert [tool for tool, _ in asked[: len(local)]] == ["Search_Local"] * len(local)
        assert web == local[: len(web)] != []

    def test_where_a_step_names_no_source_the_choice_changes_nothing(self, reader):
        at = state(HOPS, max_steps=9)
        runs = [next_queries(reader(source_choice=choice), at, 6) for choice in ("drawn", "first", "last")]

        assert runs[0] == runs[1] == runs[2]


class TestQueriesOfOneKind:
    def test_question_comes_first_and_then_its_open_words(self, reader):
        alike = reader(queries="alike")
        asked = [query for _, query in next_queries(alike, state(HOPS, ["p1"], max_steps=50), 4)]

        # The order does not give away that the yard is missing: it comes with the other names in the Aurora's text.
        assert asked == [HOPS, "Aurora mayor", "Borealis mayor", "mayor Aurora built"]

    def test_names_in_a_passage_that_are_no_title_are_searched_too(self, files):
        gold = load_gold([files["questions"]], [files["corpus"]])[BARE]
        fir = replace(gold.passages[1], text="Firs grow in Old Corvo, where Dora Stern lives.")
        gold = replace(gold, passages=(gold.passages[0], fir))

        asked = list(queries(gold, {"p6"}, fir.text, "alike"))

        assert asked[1:5] == ["Fir elm", "Firs elm", "Old Corvo elm", "Dora Stern elm"]

    @given(shown=st.sets(st.sampled_from(["p1", "p2", "p3"])))
    def test_nothing_of_sub_questions_and_facts_is_in_them(self, shown: set[str]):
        gold = GOLD
        seen = " ".join(f"{passage.title} {passage.text}" for passage in gold.passages if passage.id in shown)
        bare_question = replace(gold.question, decomposition=(), evidence_triples=())

        without = queries(replace(gold, question=bare_question), shown, seen, "alike")

        assert list(without) == list(queries(gold, shown, seen, "alike"))


GOLD = GoldQuestion(question(0), tuple(Passage(*passage) for passage in PASSAGES[:3]))
