"""The result of a run."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from haystack import Document

from prefrag.components.state.answer_composer import AnswerComposer, _evidence, compose
from prefrag.components.state.attempt import Attempt
from prefrag.components.state.citations import prompt_marks
from prefrag.components.state.state import Action, Evidence, Label, Search, State, Step, Verdict, identity
from tests.components.samples import answer_step, document, found, observed_step, search_step, settings, state
from tests.for_each import for_each
from tests.marks import put_codes

LOCAL, WEB = document("alpha", source="local", step=1), document("delta", source="web", step=2)
SENT = Attempt("web", "delta", "Outside", sent_out=True, error=None)


def finished() -> State:
    switched = search_step(
        "delta",
        found(document("beta")),
        Search("web", "delta", (WEB,), attempts=(SENT,)),
        documents=(WEB,),
        source="web",
        observed=True,
        verdict=Verdict(False, "model", "Nothing new.", parsed=False),
    )
    answer = answer_step("1974", label=Label.CORRECT, explanation="As the passages say.", suggestions="None.")
    reached = state(observed_step(LOCAL), switched, answer).with_call("reasoner", {}).with_call("judge", {})
    return reached.with_event("answer", text="1974")


def sentence(listed: dict[str, Any]) -> str:
    return listed["content"][listed["sentence"]["start"] : listed["sentence"]["end"]]


async def test_the_component_gives_the_result_on_both_ways():
    answer = replace(finished(), started=0.0)

    assert AnswerComposer().run(answer) == {"result": compose(answer)}
    assert await AnswerComposer().run_async(answer) == {"result": compose(answer)}


class TestAnswer:
    def test_is_that_of_the_last_step_and_marked_where_it_was_forced(self):
        result = compose(finished())

        assert (result["answer"], result["label"], result["forced"]) == ("1974", "CORRECT", False)
        assert (result["explanation"], result["suggestions"]) == ("As the passages say.", "None.")
        assert result["errors"] == []
        assert compose(state(answer_step(forced=True)))["forced"]

    @for_each("control", "\x1b[31m", "\x9b31m", "\u202e", "\u2066", "\ufeff", "\u2028", "\U000e0041")
    def test_holds_no_character_that_a_terminal_or_a_browser_obeys(self, control: str):
        said = f"no{control}w"
        searched = search_step(said, thought=said, verdict=Verdict(False, "model", said))
        answer = answer_step(said, explanation=said, suggestions=said, unsupported=(said,))
        reached = state(observed_step(LOCAL), searched, answer).with_event("noted", text=[said, {"more": said}])

        result = compose(reached)

        written = json.dumps(control[0]).strip('"')
        assert written not in json.dumps(result)
        assert written not in json.dumps([dict(event.data) for event in reached.events]), "also while a run goes on"
        assert result["answer"].startswith("no")

    def test_keeps_joiners_and_the_characters_of_passages(self):
        placed = document("alpha", "a\u202eb", source="local", step=1)

        result = compose(state(observed_step(placed), answer_step("\u0646\u200c\u0645")))

        assert result["answer"] == "\u0646\u200c\u0645"
        assert result["documents"][0]["content"] == "a\u202eb", "places in a passage are counted"

    def test_that_is_a_citation_alone_leaves_the_doubted_answer(self):
        observed = state(observed_step(LOCAL))
        doubted = answer_step(put_codes("1974 [[1]]", observed), label=Label.INCORRECT)
        forced = answer_step(put_codes("[[1]]", observed), forced=True)

        result = compose(observed.with_step(doubted).with_step(forced))

        assert (result["answer"], result["label"], result["forced"]) == ("1974", "INCORRECT", True)
        assert (result["errors"], [cited["id"] for cited in result["citations"]]) == ([], ["alpha"])

    @for_each(
        "step, by",
        (answer_step(certainty="probably"), "model"),
        # The critic of Self-RAG keeps no transcript.
        (Step(Action.ANSWER, answer="1974", label=Label.CORRECT), "model"),
        (Step(Action.ANSWER, answer="1974", certainty="stated"), "reader"),
        (Step(Action.ANSWER, certainty="not_found"), None),
    )
    def test_says_who_proposed_it(self, step: Step, by: str | None):
        assert compose(state(observed_step(LOCAL), step))["answered_by"] == by

    def test_has_its_place_in_its_sentence_even_with_a_full_stop(self):
        carrier = Evidence(LOCAL, "It won in 1974", "alpha")
        step = answer_step("1974.", certainty="stated", evidence=(carrier,))

        (shown,) = compose(state(observed_step(LOCAL), step))["evidence"]

        assert shown["answer"] == {"start": 10, "end": 14}

    @for_each(
        "reached, broken_off, errors",
        (
            state(observed_step(LOCAL), Step(Action.UNREADABLE, forced=True)),
            None,
            ["No answer could be read from the model's replies."],
        ),
        (state(observed_step(LOCAL), answer_step("[1]")), None, ["No answer could be read from the model's replies."]),
        (state(), "The server is down.", ["The server is down."]),
        (
            state(search_step("a", Search("web", "a", error="rate limit")), Step(Action.UNREADABLE, forced=True)),
            None,
            ["web could not be searched: rate limit", "No answer could be read from the model's replies."],
        ),
    )
    def test_that_is_empty_or_a_citation_is_an_error_beside_others(
        self, reached: State, broken_off: str | None, errors: list[str]
    ):
        result = compose(reached, error=broken_off)
        assert (result["answer"], result["label"], result["errors"]) == ("", None, errors)

    def test_of_a_rewritten_question_keeps_the_one_that_was_typed(self):
        result = compose(State("Who built Aurora?", settings(), typed="Who built it?"))

        assert (result["question"], result["asked"]) == ("Who built Aurora?", "Who built it?")
        assert compose(state(question="Who?"))["asked"] == "Who?"


class TestDocuments:
    def test_tell_their_source_and_their_place_in_the_file(self):
        meta = {"heading": "Manual > Installation", "split_id": 2, "split_count": 12, "file_path": "a.pdf"}
        shown = document("alpha", source="web", url="https://example.org/a", step=2, page_number=3, **meta)

        listed = compose(state(observed_step(replace(shown, score=1.5))))["documents"][0]

        assert listed == {
            "mark": "1",
            "id": "alpha",
            "title": "alpha",
            "content": "About alpha.",
            "source": "web",
            "url": "https://example.org/a",
            "score": 1.5,
            "step": 2,
            "heading": "Manual > Installation",
            "position": {"number": 3, "of": 12},
            "file": "a.pdf",
            "page": 3,
            "sentence": None,
        }

    def test_name_the_section_of_that_sentence_if_they_have_several(self):
        text = "The chair is Ada Okafor.\nPress\nThe press was sold to Tobias Greaves."
        starts = "0 Board\n24 Board > Press\nx y\n3"
        minutes = document("minutes", text, step=1, heading="Board > Press", section_starts=starts)

        queries = ("Who is the chair?", "Who bought the press?")
        results = [compose(state(observed_step(minutes, query=query))) for query in queries]

        for part in ("documents", "evidence"):
            assert [result[part][0]["heading"] for result in results] == ["Board", "Board > Press"]
        assert "Press" not in [quotation["sentence"] for quotation in results[1]["evidence"]]

    def test_name_the_page_of_that_sentence_if_they_have_several(self):
        text = "The chair is Ada Okafor. The press was sold to Tobias Greaves."
        minutes = document("minutes", text, step=1, page_number=2, page_starts="24 3")

        queries = ("Who is the chair?", "Who bought the press?")
        results = [compose(state(observed_step(minutes, query=query))) for query in queries]

        for part in ("documents", "evidence"):
            assert [result[part][0]["page"] for result in results] == [2, 3]

    def test_name_the_page_of_the_answer_in_the_sentence(self):
        text = "The tent of the feast costs 180 euros a day. Dogs stay outside."
        feast = document("feast", text, step=1, page_number=2, page_starts="28 3")
        run = state(observed_step(feast, query="tent"))
        mark = prompt_marks(run)[identity(feast)]

        for answer, page in (("180 euros", 3), ("the tent", 2), ("the boat", 2)):
            evidence = Evidence(feast, text.partition(". ")[0] + ".", "tent")
            shown = compose(run.with_step(answer_step(f"{answer} [{mark}]")))["documents"]

            assert _evidence(evidence, {identity(feast): "A"}, answer)["page"] == page
            assert shown[0]["page"] == page

    def test_have_no_page_if_rows_from_several_pages_are_shown(self):
        text = "Boat: Tern; Seats: 48\nBoat: Skua; Seats: 72"
        fleet = document("fleet", text, step=1, page_number=2, page_starts="22 3")
        rows = "Boat: Tern; Seats: 48\nand 1 more row"

        assert "page" not in _evidence(Evidence(fleet, rows, "seats"), {identity(fleet): "A"}, "120")
        assert _evidence(Evidence(fleet, text, "seats"), {identity(fleet): "A"}, "48")["page"] == 2

    def test_hold_the_sentence_on_the_citing_answer_or_the_query(self):
        text = "The prize is old. Alpha won the prize in 1974."
        first, second = document("first", text, step=1), document("second", text, step=1)
        run = state(observed_step(first, second, query="old prize"))
        mark = prompt_marks(run)[identity(first)]

        shown = compose(run.with_step(answer_step(f"1974 [{mark}]")))["documents"]

        assert [sentence(entry) for entry in shown] == ["Alpha won the prize in 1974.", "The prize is old."]
        # This includes documents of the last step, after which the run broke off.
        [last] = compose(state(observed_step(second, query="Alpha 1974")))["documents"]
        assert sentence(last) == "Alpha won the prize in 1974."

    def test_hold_the_sentence_from_which_a_reader_read_its_answer(self):
        text = "Alpha sank in 1974. Alpha won the prize in 1974."
        read = document("alpha", text, step=1)
        evidence = Evidence(read, "Alpha sank in 1974.", "prize")
        run = state(observed_step(read, query="prize"), answer_step("1974", evidence=(evidence,)))

        [shown] = compose(run)["documents"]

        assert sentence(shown) == "Alpha sank in 1974."

    def test_have_text_numbers_and_safe_addresses_for_any_metadata(self):
        place = {"file_path": {"a": 1}, "page_number": [1], "heading": ["a"], "split_id": True, "split_count": "2"}
        odd = Document(id="a", meta={"title": ["a"], "url": ["x"], "step": True, **place})
        script = Document(id="b", meta={"url": "javascript:alert(1)"})
        posing = Document(id="c", meta={"url": "https://bank.example@evil.example"})
        listed, bare, *others = compose(state(observed_step(odd, Document(id="bare"), script, posing)))["documents"]
        assert listed["title"] == "['a']"
        assert (bare["title"], bare["content"], bare["score"]) == ("", "", None)
        for entry in (listed, bare, *others):
            assert not {"file", "page"} & entry.keys()
            assert (entry["heading"], entry["position"], entry["sentence"], entry["url"]) == (None, None, None, "")

    def test_have_scores_that_are_json_whatever_retriever_gave_them(self):
        scored = Document(id="a", score=np.float32(0.5))  # type: ignore[arg-type]

        [listed] = compose(state(observed_step(scored)))["documents"]

        assert json.loads(json.dumps(listed))["score"] == 0.5


class TestSteps:
    def test_tell_what_was_searched_judged_and_kept(self):
        first, second, third = compose(finished())["steps"]

        assert (first["step"], first["action"], first["verdict"], first["documents"]) == (1, "search", None, ["alpha"])
        assert (second["searched"], second["source"]) == (["local", "web"], "web")
        assert second["verdict"] == {
            "status": False,
            "judged_by": "model",
            "analysis": "Nothing new.",
            "score": None,
            "parsed": False,
        }
        assert (third["answer"], third["label"]) == ("1974", "CORRECT")


class TestCounts:
    def test_are_those_of_the_paper_and_sources_with_trace_as_json(self):
        result = compose(finished())
        assert json.loads(json.dumps(result)) == result
        assert [shown["id"] for shown in result["documents"]] == ["alpha", "delta"], "those that the model was shown"
        assert (result["usage"]["llm_calls"], result["usage"]["calls"]) == (2, {"reasoner": 1, "judge": 1})
        assert result["queries_sent_out"] == [SENT.to_dict()]
        assert result["trace"] == [{"kind": "answer", "step": 3, "text": "1974"}]
        assert result["counts"] == {
            "total_local": 2,
            "total_web": 1,
            "total": 3,
            "used_local": 1,
            "used": 2,
            "lookups": 3,
            "sources": {"local": {"total": 2, "used": 1}, "web": {"total": 1, "used": 1}},
        }

    def test_hold_no_skipped_source_and_call_the_preferred_local(
        self,
    ):
        """They use all of a supplement."""

        reached = state(answer_step(searches=(Search("web", "q", skipped=True),)))
        assert compose(reached)["counts"]["total"] == compose(reached)["usage"]["seconds"] == 0
        assert compose(reached)["steps"][0]["searched"] == []
        assert compose(finished(), preferred="web")["counts"]["total_local"] == 1
        supplement = answer_step(searches=(found(), found(source="web")), source="local+web")
        counts = compose(state(supplement))["counts"]
        assert (counts["used_local"], counts["used"]) == (1, 2)


class TestCitations:
    def composed(self, answer: str) -> dict[str, Any]:
        shown = (document("alpha"), document("delta", source="web"))
        observed = state(observed_step(*shown), external=("web",))
        return compose(observed.with_step(answer_step(put_codes(answer, observed))))

    def test_result_states_what_was_cited_with_numbers_for_the_web(self):
        result = self.composed("1974 [[W1]]")

        assert [listed["mark"] for listed in result["documents"]] == ["1", "W1"]
        assert (result["answer"], result["answer_with_citations"]) == ("1974", "1974 [W1]")
        assert result["citations"] == [{"mark": "W1", "id": "delta", "title": "delta", "source": "web"}]
        assert not result["uncited"]

    @for_each("answer, shown", ("1974",) * 2, ("1974 [7]", "1974"), ("1974 [1]", "1974"), ("1974 [W1]", "1974"))
    def test_answer_without_citation_of_what_was_shown_is_marked(self, answer: str, shown: str):
        result = self.composed(answer)

        assert result["uncited"]
        assert (result["answer"], result["answer_with_citations"], result["citations"]) == (shown, shown, [])

    def test_thoughts_answers_and_explanations_show_plain_marks(self):
        observed = state(observed_step(document("alpha")))
        words = {name: put_codes("It stands in [[1]].", observed) for name in ("thought", "explanation", "suggestions")}
        result = compose(observed.with_step(answer_step(put_codes("1974 [[1]]", observed), **words)))

        shown = [result["explanation"], result["suggestions"], result["steps"][1]["thought"]]
        assert shown == ["It stands in [1]."] * 3
        assert result["steps"][1]["answer"] == "1974 [1]"

    def test_documents_of_two_sources_with_an_id_are_cited_apart(self):
        local, archive = document("1", source="local"), document("1", content="Another.", source="archive")

        observed = state(observed_step(local), observed_step(archive))
        result = compose(observed.with_step(answer_step(put_codes("1974 [[2]]", observed))))

        assert [shown["mark"] for shown in result["documents"]] == ["1", "2"]
        assert [cited["source"] for cited in result["citations"]] == ["archive"]


class TestWhenUnsure:
    @for_each(
        "changes, unsure",
        ({"label": Label.INCORRECT}, True),
        ({"label": Label.CORRECT, "forced": True}, True),
        ({"label": Label.PARTIALLY_CORRECT}, False),
        ({"label": None}, False),
    )
    def test_say_so_gives_sentences_and_the_guess_apart_as_answer(self, changes: dict[str, Any], unsure: bool):
        reached = state(observed_step(document("alpha")), answer_step("1812", **changes))

        result = AnswerComposer(when_unsure="say_so").run(reached)["result"]

        assert result["not_found"] is unsure
        assert result["guess"] == ("1812" if unsure else None)
        assert result["answered"] is not unsure
        assert [quotation["id"] for quotation in result["evidence"]] == (["alpha"] if unsure else [])
        assert (result["answer"], result["errors"]) == ("" if unsure else "1812", [])

    def test_by_default_gives_the_guess_and_refuses_other_settings(self):
        reached = state(observed_step(document("alpha")), answer_step("1812", label=Label.INCORRECT))

        assert AnswerComposer().run(reached)["result"]["answer"] == "1812"
        with pytest.raises(ValueError, match="when_unsure is 'maybe'"):
            AnswerComposer(when_unsure="maybe")  # type: ignore[arg-type]
