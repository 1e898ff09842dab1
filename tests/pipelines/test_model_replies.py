"""Whatever a model server replies, the documents are searched, and the run ends honestly."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from haystack import Document

from prefrag import pipelines
from prefrag.components.state.state import Event
from prefrag.pipelines.trace_text import trace_text
from tests.components.generators.fake_model_server import FakeModelServer, completion
from tests.indexes import index_of

QUESTION = "Who is the lock keeper of Vessel Lock?"
KEEPER = "Ottilie Frank"
PASSAGES = {
    "Vessel Lock": f"The lock keeper of Vessel Lock is {KEEPER}.",
    "Barge Lock": "The lock at Barge Lock is 30 m long and was dug in 1902.",
    "Keepers": "A keeper lives beside the lock and opens its gates at seven.",
}
SEARCH = "Thought: I need to search.\nAction: Search_Engine\nAction Input: lock keeper\n"


def answering(answer: str) -> str:
    return f"Thought: the passage says it.\nFinal Answer: {answer}\nSelf-Evaluation: CORRECT\nExplanation: it says so"


def reply(text: Any, finish: str = "stop", **message: Any) -> dict[str, Any]:
    made = completion(text, **message)
    made["choices"][0]["finish_reason"] = finish
    return made


def tool_call(arguments: str) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "Search_Engine", "arguments": arguments}}
    return reply(None, "tool_calls", tool_calls=[call])


def ok(*replies: Any) -> list[tuple[int, Any]]:
    return [(200, reply) for reply in replies]


WINDOW = "This model's maximum context length is 2048 tokens. However, you requested 3000 tokens"
BROKEN = {"message": "model overloaded", "code": 503}
# What the server sends, in order; the last is repeated.
FORMS: dict[str, list[tuple[int, Any]]] = {
    "prose": ok(reply("A lock keeper opens the gates of a lock for boats, and lives beside it.")),
    "reasoning beside null": ok(reply(None, reasoning_content=answering("Bob Marsh"))),
    "reasoning beside an empty text": ok(reply("", reasoning_content=SEARCH)),
    "reasoning without end": ok(reply("", "length", reasoning_content="Let me think about this. " * 50)),
    "empty": ok(reply("")),
    "unclosed thinking": ok(reply("<think>\nI should search the lock keeper, then answer", "length")),
    "cut off": ok(reply("Thought: I know.\nFinal Answer: Bob Mar", "length")),
    "native calls": ok(tool_call('{"query": "lock keeper"}')),
    "a broken native call": ok(tool_call('{"query": "lock kee')),
    "German search": ok(reply("Gedanke: Ich muss suchen.\nAktion: Search_Engine\nAktionseingabe: lock keeper")),
    "German answer": ok(
        reply(
            f"Gedanke: steht da.\nEndg\u00fcltige Antwort: {KEEPER}\nSelbstbewertung: KORREKT\nErkl\u00e4rung: steht da"
        )
    ),
    "Chinese search": ok(
        reply(
            "\u601d\u8003\uff1a\u9700\u8981\u641c\u7d22\u3002\n\u884c\u52a8\uff1aSearch_Engine\n\u884c\u52a8\u8f93\u5165\uff1alock keeper"
        )
    ),
    "Chinese answer": ok(
        reply(
            f"\u601d\u8003\uff1a\u6587\u4e2d\u8bf4\u4e86\u3002\n\u6700\u7ec8\u7b54\u6848\uff1a{KEEPER}\n\u81ea\u6211\u8bc4\u4f30\uff1aCORRECT"
        )
    ),
    **{
        f"the mark {mark}": ok(reply(SEARCH), reply(answering(f"{KEEPER} {mark}")))
        for mark in ("[9zz]", "\u30101\u2020source\u3011", "(1)", "[^1]", "[1]")
    },
    "an error with status 200": ok({"error": BROKEN}),
    "a page of a proxy": ok("<html><title>Sign in to the proxy</title></html>"),
    "no choices": ok({**completion(""), "choices": []}),
    "too many requests, come back in an hour": [(429, {"error": {"message": "rate limit"}})],
    "a window that is too small": [(400, {"error": {"message": WINDOW, "type": "invalid_request_error"}})],
    "parts": ok(reply([{"type": "text", "text": SEARCH}]), reply([{"type": "text", "text": answering(KEEPER)}])),
    "one search for ever": ok(reply(SEARCH)),
    "an observation of its own": ok(
        reply(f"{SEARCH}Observation: The keeper is Bob Marsh.\n{answering('Bob Marsh [1]')}")
    ),
}
# Only in these forms does the model ask for searches, and so may use them up.
SEARCHING = {"native calls", "German search", "Chinese search", "one search for ever", "an observation of its own"}
LABELS = re.compile(
    r"Thought|Action|Observation|Final.?Answer|Self-Evaluation|Explanation|Improvement|Search_Engine|</?think|tool_call"
    r'|Gedanke|Aktion|Endg\u00fcltige Antwort|Selbstbewertung|Erkl\u00e4rung|"query"|[{}]'
    r"|\u601d\u8003|\u884c\u52a8|\u6700\u7ec8\u7b54\u6848|\u81ea\u6211\u8bc4\u4f30",
    re.IGNORECASE,
)
FALSE = re.compile(r"limit of searches|no passages? (?:was|were) found|(?:did|has) not search", re.IGNORECASE)


@pytest.fixture(scope="module")
def server() -> Iterator[FakeModelServer]:
    running = FakeModelServer()
    yield running
    running.close()


@pytest.fixture
def ask(server: FakeModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    """Ask the question of a server whose replies have one form."""
    documents = [Document(id=title, content=text, meta={"title": title}) for title, text in PASSAGES.items()]
    store = index_of(documents, tmp_path / "index")
    monkeypatch.setenv("PREFRAG_WEB", "off")
    monkeypatch.setenv("PREFRAG_LLM_BASE_URL", server.url)

    def ask(form: str) -> dict[str, Any]:
        # What is learnt about a model goes by its name, so each form is a model of its own.
        monkeypatch.setenv("PREFRAG_LLM_MODEL", form)
        server.requests.clear()
        server.answers, server.headers = FORMS[form], {"retry-after": "3600"} if FORMS[form][0][0] == 429 else {}
        return pipelines.ask(QUESTION, pipelines.load("prefrag", replace={"TantivyDocumentStore.path": store.path}))

    return ask


@pytest.mark.parametrize("form", FORMS)
def test_the_documents_are_searched_and_the_run_ends_honestly(ask: Callable[[str], dict[str, Any]], form: str):
    result = ask(form)

    assert result["counts"]["total_local"] >= 1
    # A false answer is not given, and without an answer the sentence that states it is shown.
    shown = [result["answer"]] if result["answered"] else [quotation["sentence"] for quotation in result["evidence"]]
    assert any(KEEPER in text for text in shown), shown
    assert not re.search(r"Bob|\u2020|9zz|\(1\)|\^1", result["answer"] + result["answer_with_citations"])
    # What a reply says to the program reaches no person.
    assert not LABELS.search(f"{result['answer_with_citations']} {result['answer']} {result['guess'] or ''}")
    # No sentence about the run is false.
    assert form in SEARCHING or not result["forced"], "the page would say that the searches were used up"
    assert result["documents"] != [], "the page would say that no passage was found"
    events = [Event(event["kind"], event["step"], {**event}) for event in result["trace"]]
    said = [*result["errors"], *result["without_model"], *map(trace_text, events)]
    assert not FALSE.search("\n".join(said)), said


def test_an_error_with_status_200_has_the_servers_reason(ask: Callable[[str], dict[str, Any]]):
    result = ask("an error with status 200")

    assert "model overloaded" in json.dumps([result["errors"], result["without_model"], result["trace"]])


@pytest.mark.parametrize("form", ["prose", "empty", "German answer"])
def test_an_unreadable_reply_is_asked_for_once_more(ask: Callable[[str], dict[str, Any]], form: str):
    calls = ask(form)["usage"]["calls"]

    assert 1 <= sum(calls.values()) - calls.get("judge", 0) <= 2


def test_a_plain_mark_is_read_as_the_first_passage_shown(ask: Callable[[str], dict[str, Any]]):
    result = ask("the mark [1]")

    assert (result["answer"], [citation["mark"] for citation in result["citations"]]) == (KEEPER, ["1"])
