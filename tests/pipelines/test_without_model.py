"""The methods without a language model: a reader makes the steps, on the shipped YAML."""

from dataclasses import replace
from typing import Any

import pytest
from haystack import Document

from prefrag import pipelines
from prefrag.components.loop.follow_up_rewriter import ASKS_BACK
from prefrag.components.mspr.answer_reviewer import NOT_REVIEWED
from prefrag.components.reasoner.reader_step import FROM_MEMORY, NEEDS_MODEL, NOT_READ
from prefrag.components.reasoner.reasoner import SOURCE_NOT_CHOSEN
from prefrag.components.self_rag.passage_critic import NOT_CRITICISED
from prefrag.components.state.answer_composer import ASK_A_QUESTION
from prefrag.components.state.state import RunSettings, State
from prefrag.pipelines.loading import find, read_block
from tests.fakes import CALLS
from tests.indexes import index_of
from tests.pipelines.scripted import TREE_JUDGE, events, retriever, scripted, sent
from tests.pipelines.shipped_names import LOOPS, ONE_STEP

QUESTION = "Who built alpha, and which prize did delta receive?"
SURE, UNSURE = ("Beta", 0.9), ("1812", 0.1)
SWITCH = {"judge.judge": {"type": TREE_JUDGE, "init_parameters": {"cost_of_leaving": 0}}}


async def run(*readings: list[tuple[str, float]], question: str = QUESTION, **settings: Any) -> dict[str, Any]:
    options = settings.pop("options", {})
    return await pipelines.ask_async(scripted(readings=list(readings), **settings), question, **options)


class TestALoop:
    @pytest.mark.parametrize("pipeline", LOOPS)
    async def test_a_loop_answers_when_the_reader_is_sure(self, pipeline: str):
        result = await run([SURE], pipeline=pipeline)

        assert (result["answer"], result["label"], result["certainty"]) == ("Beta", None, "stated")
        assert (result["answered"], result["probability"], result["guess"]) == (True, 0.9, None)
        assert result["answer_with_citations"] == "Beta [1]"
        assert [cited["id"] for cited in result["citations"]] == ["local-alpha"]
        [evidence] = result["evidence"]
        assert evidence["sentence"][slice(*evidence["answer"].values())] == "Beta"
        assert [call["query"] for call in CALLS["local"]] == [QUESTION]

    @pytest.mark.parametrize("pipeline", LOOPS)
    async def test_searches_for_what_is_open_until_the_reader_is_sure(self, pipeline: str):
        result = await run([], [UNSURE], [SURE], pipeline=pipeline)

        assert result["answer"] == "Beta"
        first, second = [call["query"] for call in CALLS["local"]][:2]
        assert first == QUESTION
        assert second.startswith("Beta ")

    @pytest.mark.parametrize("pipeline", LOOPS)
    async def test_a_loop_withholds_what_the_reader_is_not_sure_of(self, pipeline: str):
        result = await run([UNSURE], pipeline=pipeline)

        assert (result["answer"], result["answer_with_citations"], result["citations"]) == ("", "", [])
        assert (result["answered"], result["not_found"], result["label"]) == (False, True, None)
        assert result["certainty"] == "not_found"
        assert (result["guess"], result["probability"]) == ("1812", 0.1)
        assert result["steps"][-1]["answer"] == ""
        assert result["errors"] == result["sent_to_models"] == []
        assert result["usage"]["llm_calls"] == result["usage"]["prompt_tokens"] == 0
        assert result["counts"]["total"] > 1

    async def test_a_loop_shows_the_nearest_sentences_and_the_guess(self):
        local = {"alpha": "It floats. Alpha was built by Beta in 1812. It is red."}
        web = {"delta": "Delta is a ship. The prize that Delta did receive is of iron. It is blue."}
        result = await run([("Beta", 0.2)], documents={"local": local, "web": web}, replace=SWITCH)

        assert result["evidence"][1] | {"id": ""} == {
            "mark": "1",
            "id": "",
            "title": "alpha",
            "source": "local",
            "heading": None,
            "sentence": "Alpha was built by Beta in 1812.",
            "answer": None,
            "query": QUESTION,
        }
        assert [quotation["sentence"] for quotation in result["evidence"]] == [
            "The prize that Delta did receive is of iron.",
            "Alpha was built by Beta in 1812.",
            "Delta is a ship.",
            local["alpha"],
        ]

    @pytest.mark.parametrize(("names", "later"), [("question", []), ("names", ["alpha receive"])])
    async def test_a_loop_goes_to_the_web_where_the_judge_sends_it(
        self, names: str, later: list[str], monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("PREFRAG_WEB_QUERIES", names)

        result = await run([], [UNSURE], [UNSURE], [("the prize", 0.9)], replace=SWITCH)

        assert [event["query"] for event in events(result, "search") if event["source"] == "web"] == [QUESTION, *later]
        assert sent(result) == [QUESTION, *later]

    async def test_a_loop_answers_from_the_web(self):
        result = await run([], [UNSURE], [("the prize", 0.9)], replace=SWITCH)

        assert result["answer_with_citations"] == "the prize [W2]"

    @pytest.mark.parametrize("pipeline", [*LOOPS, "prefrag_without_preference", "crag", "vanilla_mix", "vanilla_web"])
    async def test_a_loop_sends_the_question_once_and_no_other_word(self, pipeline: str):
        judged = {"replace": SWITCH} if pipeline in ("prefrag", "mspr") else {}

        result = await run([UNSURE], pipeline=pipeline, **judged)

        assert sent(result) in ([QUESTION], [])
        assert len(CALLS.get("web", ())) == len(sent(result))
        assert result["queries_held_back"] == []

    @pytest.mark.parametrize(
        ("threshold", "judged_by", "asked"), [(0.0, "sufficient", []), (1.0, "insufficient", [QUESTION])]
    )
    @pytest.mark.parametrize("text", ["Delta did receive the prize.", "A town."])
    async def test_what_suffices_decides_in_place_of_the_words(
        self, text: str, threshold: float, judged_by: str, asked: list[str]
    ):
        shipped = read_block(find("prefrag"))["components"]["judge"]["init_parameters"]["sufficiency"]
        parameters = {**shipped["init_parameters"], "threshold": threshold, "term_statistics": None}
        scorer = {**parameters["pair_scorer"], "init_parameters": {"label": "pair"}}
        estimate = {**shipped, "init_parameters": {**parameters, "pair_scorer": scorer}}
        parts = {"judge.judge": {"type": TREE_JUDGE}, "judge.sufficiency": estimate}

        result = await run([UNSURE], documents={"local": {"alpha": text}}, replace=parts)

        assert sent(result) == asked
        assert [event["judged_by"] for event in events(result, "verdict")][1:2] == [judged_by]
        assert [event["query"] for event in events(result, "search") if event["source"] == "web"] == asked

    @pytest.mark.parametrize(("text", "asked"), [("Delta did receive the prize.", []), ("A town.", [QUESTION])])
    async def test_what_is_found_at_home_is_not_asked_outside(self, text: str, asked: list[str]):
        trees = {"judge.judge": {"type": TREE_JUDGE}}

        result = await run([UNSURE], documents={"local": {"alpha": text}}, replace=trees)

        assert sent(result) == asked
        assert events(result, "verdict")[-1]["judged_by"] == "words"

    async def test_where_only_the_web_is_searched_it_is_asked_once(self):
        result = await run([UNSURE], options={"sources": ["web"]})

        assert (sent(result), len(result["steps"])) == ([QUESTION], 3)

    async def test_a_follow_up_leaves_with_the_question_before_it(self):
        before = (("user", "Who built alpha?"), ("assistant", "Beta."))
        now = State("Where is Beta?", RunSettings(("web",), "web", typed_only=("web",)), "Where is it?", before)

        assert now.query_for("web") == "Who built alpha? Where is it?"
        assert replace(now, typed="").query_for("web") == "Where is Beta?"

    async def test_a_stand_in_which_keeps_queries_here_gets_the_names(self):
        pipeline = scripted(readings=[[], [UNSURE], [UNSURE], [SURE]], replace=SWITCH)
        for name in ("web", "web_again"):
            pipeline.get_component(name).retriever.stays_local = True

        result = await pipelines.ask_async(pipeline, QUESTION)

        assert [call["query"] for call in CALLS["web"]] == [QUESTION, "alpha receive"]
        assert sent(result) == []


class TestAMethodOfOneStep:
    @pytest.mark.parametrize("pipeline", ONE_STEP)
    async def test_a_method_of_one_step_answers_where_the_reader_is_sure(self, pipeline: str):
        result = await run([SURE], pipeline=pipeline)
        assert (result["answer"], result["label"], result["forced"]) == ("Beta", None, False)
        assert len(result["citations"]) == 1
        CALLS.clear()
        result = await run([UNSURE], pipeline=pipeline)
        assert (result["answer"], result["answered"], result["guess"]) == ("", False, "1812")
        assert result["evidence"]

    async def test_dr_rag_reads_what_its_two_stages_found(self, tmp_path: Any):
        passages = [
            Document(id="a", content="Alpha was built by Beta.", meta={"title": "Alpha"}),
            Document(id="b", content="Beta is a yard in Gamma.", meta={"title": "Beta"}),
        ]
        store = {"TantivyDocumentStore": index_of(passages, tmp_path / "index")}

        result = await run([("Gamma", 0.9)], pipeline="dr_rag_linked", replace=store, question="Where is Beta?")

        assert result["answer_with_citations"].startswith("Gamma [")
        assert result["usage"]["llm_calls"] == 0

    async def test_what_answers_from_memory_says_that_there_is_none(self):
        result = await run([SURE], pipeline="no_retrieval")

        assert (result["answered"], result["guess"], result["evidence"]) == (False, None, [])
        assert (result["without_model"], result["errors"]) == ([FROM_MEMORY], [])


class TestWhatIsNoQuestion:
    async def test_a_greeting_gets_a_hint(self):
        result = await run([UNSURE], question="hello")

        assert result["asked_back"] == ASK_A_QUESTION
        assert (result["answered"], result["errors"]) == (False, [])

    async def test_a_question_gets_sentences(self):
        result = await run([UNSURE])

        assert result["asked_back"] is None
        assert result["evidence"]


class TestWhatNeedsAModel:
    async def test_a_follow_up_is_read_with_the_name_that_it_stands_for(self):
        history = [{"role": "user", "content": "Who built Alpha?"}, {"role": "assistant", "content": "Ada Quill"}]

        result = await run([UNSURE], question="When did she win the prize?", options={"history": history})

        assert (result["question"], result["without_model"]) == ("When did Ada Quill win the prize?", [])
        asked = {event["query"] for event in events(result, "search") if event["source"] == "web"}
        assert asked == {"Who built Alpha? When did she win the prize?"}

    @pytest.mark.parametrize("pipeline", ["prefrag", "vanilla_web", "no_retrieval"])
    async def test_one_that_cannot_be_told_is_asked_back_before_any_search(self, pipeline: str):
        history = [{"role": "user", "content": "how much?"}, {"role": "assistant", "content": "No sure answer."}]

        result = await run([SURE], pipeline=pipeline, question="When was it built?", options={"history": history})

        assert result["asked_back"] == ASKS_BACK.format("it")
        assert [event["kind"] for event in result["trace"]] == ["asked_back"]
        assert (result["answered"], result["not_found"], result["errors"]) == (False, True, [])
        assert not {"local", "web"} & set(CALLS)

    @pytest.mark.parametrize(
        ("pipeline", "notes"),
        [
            ("mspr", [SOURCE_NOT_CHOSEN, NOT_REVIEWED]),
            ("self_rag", [NOT_CRITICISED]),
            ("react", [SOURCE_NOT_CHOSEN]),
            ("prefrag_without_preference", [SOURCE_NOT_CHOSEN]),
        ],
    )
    async def test_missing_parts_that_need_a_model_are_named(self, pipeline: str, notes: list[str]):
        result = await run([SURE], pipeline=pipeline)

        assert (result["answer"], sorted(result["without_model"])) == ("Beta", sorted(notes))


async def test_attached_documents_are_read_before_any_search():
    attached = {"documents": [{"title": "board.txt", "content": "Ada Quill keeps the crane."}]}

    result = await run([("Ada Quill", 0.9)], options=attached)

    assert result["answer_with_citations"] == "Ada Quill [A1]"
    assert "local" not in CALLS


async def test_no_source_that_could_be_searched_is_no_answer():
    result = await run([UNSURE], errors={"local": "down"}, options={"sources": ["local"]})

    assert (result["answered"], result["guess"]) == (False, None)
    assert pipelines.search_failures(result)


class TestTheShippedReader:
    @pytest.mark.parametrize("pipeline", ["prefrag", "prefrag_patient", "prefrag_linked", "prefrag_three_sources"])
    def test_is_also_asked_whether_home_suffices(self, pipeline: str):
        parts = read_block(find(pipeline))["components"]
        reader = parts["reasoner"]["init_parameters"]["reader"]

        assert parts["judge"]["init_parameters"]["sufficiency"]["init_parameters"]["reader"] == reader

    LOCAL = {
        "Calibration Hall": "Sensors are compared with a reference here. The hall opened in 1966 next to the harbour.",
        "Ostermoor Shipyard": "Gustav Ostermoor opened his yard in Saltreach with borrowed tools.",
    }

    async def ask(self, question: str, threshold: float) -> dict[str, Any]:
        local = {"hall": self.LOCAL["Calibration Hall"], "yard": self.LOCAL["Ostermoor Shipyard"]}
        parts = {
            "ExtractiveReader.threshold": threshold,
            "local.retriever": retriever(local, "local"),
            "web.retriever": retriever({}, "web"),
        }
        return await pipelines.ask_async(pipelines.load("prefrag", parts), question, sources=["local"])

    async def test_the_shipped_reader_answers_or_shows_the_sentence(self):
        result = await self.ask("When was the opening of the hall?", threshold=0.0)
        assert result["answer_with_citations"] == "1966 [1]"
        assert 0 < result["probability"] <= 1
        CALLS.clear()
        result = await self.ask("When was the opening of the hall?", threshold=1.0)
        assert (result["answer"], result["guess"]) == ("", "1966")
        assert result["evidence"][0]["sentence"] == "The hall opened in 1966 next to the harbour."

    @pytest.mark.parametrize(
        ("question", "advice"),
        [
            ("Wann wurde die Hall gebaut?", NOT_READ),
            ("How much older is the hall than the yard?", NEEDS_MODEL),
            ("Compare hall and yard.", NEEDS_MODEL),
        ],
    )
    async def test_does_not_guess_at_what_it_cannot_read(self, question: str, advice: str):
        result = await self.ask(question, threshold=0.0)
        assert (result["answered"], result["guess"], result["probability"]) == (False, None, 0.0)
        assert result["without_model"] == [advice]
        assert result["evidence"]
