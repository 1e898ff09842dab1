"""Under its own base URL, Open WebUI gets steps as lines of status and cited passages as sources."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from markdown_it import MarkdownIt
from starlette.testclient import TestClient

from prefrag.server.chat.open_webui import PREFIX, number_sources
from tests.fakes import CALLS
from tests.for_each import for_each
from tests.pipelines.scripted import answer, search, verdict
from tests.server.chats import chat, deltas, streamed
from tests.server.front_ends import ATTACHED, TASKS

Served = Callable[..., TestClient]
SWITCHING = (search("alpha"), search("beta delta"), answer("1974 [[W1]][[1]], not 1969 [[W1]]", "CORRECT"))


def events(chunks: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [chunk["event"]["data"] for chunk in chunks if chunk.get("event", {}).get("type") == kind]


def statuses(chunks: list[dict[str, Any]]) -> list[str]:
    return [status["description"] for status in events(chunks, "status")]


def names(chunks: list[dict[str, Any]]) -> list[str]:
    return [source["source"]["name"] for source in events(chunks, "source")]


@pytest.fixture
def ask(served: Served) -> Callable[..., list[dict[str, Any]]]:
    """The chunks that Open WebUI gets for a scripted run."""

    def ask(*replies: str, fields: dict[str, Any] | None = None, **settings: Any) -> list[dict[str, Any]]:
        return streamed(served(*replies, **settings), prefix=PREFIX, **fields or {})

    return ask


Ask = Callable[..., list[dict[str, Any]]]


class TestBaseUrl:
    def test_has_the_models_and_the_tasks_of_the_plain_one(self, served: Served):
        client = served('{"title": "Plans"}')

        models = client.get(f"{PREFIX}/v1/models").json()
        title = client.post(f"{PREFIX}/v1/chat/completions", json=chat(("user", TASKS["title"][0]))).json()

        assert [model["id"] for model in models["data"]] == ["prefrag", "prefrag-tasks"]
        assert title["choices"][0]["message"]["content"] == '{"title": "Plans"}'

    def test_has_no_more_routes_and_the_plain_one_sends_no_events(self, served: Served):
        """One piece has its sources in words."""

        client = served(*SWITCHING)
        for path in ("/prefrag/run", "/docs", "/ready", "/models", "/v1/deploy-yaml", "/v1/", ""):
            assert client.get(PREFIX + path).status_code == 404
        completion = client.post(f"{PREFIX}/v1/chat/completions", json=chat()).json()
        sources = "\n\nSources:\n[1] alpha (local): “Alpha was built by Beta.”\n"
        assert sources in completion["choices"][0]["message"]["content"]
        assert not any("event" in chunk for chunk in streamed(client))

    def test_works_behind_a_proxy_with_errors_of_the_protocol(self, served: Served):
        """The proxy has a path of its own."""

        client = served()
        response = client.post(f"{PREFIX}/v1/chat/completions", json=chat() | {"model": "other"})

        assert (response.status_code, response.json()["error"]["code"]) == (404, "model_not_found")
        assert TestClient(client.app, root_path="/rag").get(f"/rag{PREFIX}/v1/models").status_code == 200


class TestSteps:
    def test_are_status_lines_with_an_end_and_thoughts_are_reasoning(self, ask: Ask):
        chunks = ask(*SWITCHING, verdicts=(verdict(False),))

        steps = [status.partition(":")[0].partition(" (")[0] for status in statuses(chunks)]
        assert steps == [
            *("Search local", "Found in local", "Verdict"),
            *("Search local", "Found in local", "Verdict", "Search web", "Found in web", "Reflection"),
            "Correct by the model's own check · 3 searches · 1 query sent to the web",
        ]
        assert all(line.startswith("Thought: ") for line in deltas(chunks, "reasoning_content"))
        done = [status["done"] for status in events(chunks, "status")]
        assert done == [False] * (len(done) - 1) + [True]

    @for_each(
        "script, settings, summary",
        ((answer("1974"),), {}, "Not checked · 0 searches · nothing sent out"),
        (
            (search("alpha"), answer("1912 [[1]]", "INCORRECT")),
            {"fields": {"sources": ["local"]}},
            "Incorrect by the model's own check · 2 searches · nothing sent out",
        ),
        (
            (search("alpha"), answer("1912 [[1]]", "INCORRECT")),
            {"fields": {"sources": ["local"]}, "replace": {"answer.when_unsure": "say_so"}},
            "No sure answer · 2 searches · nothing sent out",
        ),
        ((search("alpha"), "!down"), {}, "The run broke off"),
    )
    def test_last_line_says_what_the_answer_is_worth_and_what_left(
        self, ask: Ask, script: tuple[str, ...], settings: dict[str, Any], summary: str
    ):
        assert statuses(ask(*script, **settings))[-1] == summary

    def test_hold_no_source_number_and_give_the_reason_of_a_break(self, ask: Ask):
        chunks = ask("Thought: as [1] has it\nAction: Search_Engine\nAction Input: alpha", answer("1974 [[1]]"))
        assert deltas(chunks, "reasoning_content")[0] == "Thought: as (1) has it\n"
        CALLS.clear()
        chunks = ask(search("alpha"), "!down")
        assert "down" in deltas(chunks, "content")[0]
        assert chunks[-1]["choices"][0]["finish_reason"] == "error"


class TestSources:
    def test_are_cited_passages_by_number_before_the_answer(self, ask: Ask):
        chunks = ask(*SWITCHING, verdicts=(verdict(False),))

        assert names(chunks) == ["delta (web)", "alpha (your documents)"]
        assert deltas(chunks, "content") == ["1974 [1] [2], not 1969 [1]\n\nNote: sent to the web: “beta delta”."]
        assert "content" in chunks[-1]["choices"][0]["delta"]
        assert not any("event" in chunk for chunk in chunks[-1:])
        sources = events(chunks, "source")
        assert [source["document"] for source in sources] == [
            ["**Delta won the prize in 1974.**"],
            ["**Alpha was built by Beta.**"],
        ]
        assert len({source["metadata"][0]["source"] for source in sources}) == 2, "they are chips of their own"

    def test_of_what_was_found_unanswered_are_cited_or_all_named(self, ask: Ask):
        assert names(ask()) == ["alpha (your documents)", "delta (web)"]
        chunks = ask(
            search("alpha"),
            answer("1912", "INCORRECT"),
            fields={"sources": ["local"]},
            replace={"answer.when_unsure": "say_so"},
        )
        assert names(chunks) == ["alpha (your documents)"]
        assert deltas(chunks, "content")[0].startswith("No sure answer.\n\n> [1] alpha: Alpha was built by Beta.")

    def test_follow_the_files_that_open_webui_lists_itself(self, ask: Ask):
        chunks = ask(
            search("alpha"),
            answer("Ada Quill [[A1, A3]][[A2]], who built [[1]]"),
            fields={"messages": [{"role": "user", "content": ATTACHED["before the question"]}]},
        )

        assert names(chunks) == ["alpha (your documents)"]
        assert deltas(chunks, "content") == ["Ada Quill [1] [2], who built [3]"]

    def test_a_file_without_text_has_its_number_as_well(self, ask: Ask):
        message = ATTACHED["before the question"].replace(
            "</context>", '<source id="3" name="x.png"></source></context>'
        )

        chunks = ask(search("alpha"), answer("Beta [[1]]"), fields={"messages": [{"role": "user", "content": message}]})

        assert deltas(chunks, "content") == ["Beta [4]"]

    def test_have_heading_position_page_and_address_if_any(self):
        document = {
            **{"mark": "W1", "title": "Delta", "heading": "Delta > Prizes", "source": "web"},
            **{"url": "https://delta.example", "page": 3},
        }
        place = {"mark": "1", "title": "Manual", "heading": "Manual > Use", "position": {"number": 3, "of": 12}}
        _, [one, source] = number_sources("[1][W1]", [document, place])
        assert one["data"]["source"]["name"] == "Manual > Use, passage 3 (your documents)"
        assert source["data"]["source"]["name"] == "Delta > Prizes (web)"
        assert source["data"]["source"]["url"] == "https://delta.example"
        assert source["data"]["metadata"][0]["page"] == 2, "Open WebUI counts from 0"

    @for_each(
        "content, shown",
        ("One. Two is it. Three.", "One. **Two is it.** Three."),
        ("One. Two  *it*. Three.", "One. Two  *it*. Three."),
        ("One.\nTwo is. \nThree.", "One.\n**Two is.** \nThree."),
    )
    def test_have_their_best_sentence_in_bold(self, content: str, shown: str):
        document = {
            "mark": "1",
            "title": "a",
            "content": content,
            "sentence": {"start": 5, "end": content.index("T", 6)},
        }

        _, [source] = number_sources("[1]", [document])

        assert source["data"]["document"] == [shown]


class TestStrangersText:
    @for_each(
        "text, shown",
        ("In [2019] and [1]", "In (2019) and [1]"),
        ("`a[0][1]`\n```\nb[1]\n```\n[1]", "`a[0][1]`\n```\nb[1]\n```\n[1]"),
    )
    def test_number_that_is_no_mark_stays_readable_and_code_as_it_is(self, text: str, shown: str):
        assert number_sources(text, [{"mark": "1", "title": "a"}])[0] == shown

    @for_each("filler", "`", "``` ", "[1]", "[", "[1, ")
    def test_a_long_answer_takes_no_time(self, filler: str):
        started = time.process_time()

        number_sources(filler * 10_000, [{"mark": "1", "title": "a"}])

        assert time.process_time() - started < 1

    def test_a_passage_loads_nothing(self):
        hostile = "![t](https://evil.example/?leak=1) <img src=https://evil.example> [click](javascript:x)"

        _, [source] = number_sources("[1]", [{"mark": "1", "title": "a", "content": hostile}])

        tokens = MarkdownIt("commonmark").parse(source["data"]["document"][0])
        kinds = {part.type for token in tokens for part in (token, *(token.children or ()))}
        assert not kinds & {"image", "link_open", "html_inline", "html_block"}

    @for_each("title", "https://evil.example/a", "HTTP://evil.example", "\u202ehttps://evil.example")
    def test_a_title_is_no_address_whose_icon_open_webui_would_fetch(self, title: str):
        _, [source] = number_sources("[1]", [{"mark": "1", "title": title}])

        metadata = source["data"]["metadata"][0]
        assert not any(text.lower().startswith("http") for text in (metadata["name"], metadata["source"]))
