"""A query that leaves has one form: what the person is shown is sent, logged and told, character for character."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.state.answer_composer import compose
from prefrag.components.web.web_gate import ask_person
from tests.components.samples import answer_step, search_step, state
from tests.fakes import CALLS, ScriptedRetriever

SIGNS = st.text(
    "rope making\u0301\u200b\u00ad\ufe0f\u202e\u2066\U000e0101\U000f0000\uff21\u2800\u2028\t\n\x1b²é", max_size=60
)


@settings(max_examples=50, deadline=None)
@given(st.one_of(SIGNS, st.text(max_size=60)))
def test_what_is_shown_is_sent_logged_and_told(text: str):
    CALLS.clear()
    shown: list[str] = []
    source = RetrievalSource("web", ScriptedRetriever({"rope": "A rope."}, "web"), external=True)
    run = state(search_step(f"rope {text}"), sources=("web",), external=("web",))
    token = ask_person.set(lambda source, query: not shown.append(query))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        log = Path(folder, "audit.jsonl")
        patch.setenv("PREFRAG_WEB", "ask")
        patch.setenv("PREFRAG_AUDIT_LOG", str(log))
        try:
            after = source.run(run)["state"]
        finally:
            ask_person.reset(token)
        lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    told = compose(after.with_step(answer_step()))["queries_sent_out"]

    (query,) = shown
    assert not set(query) & set("\u200b\u00ad\ufe0f\u202e\u2066\U000e0101\U000f0000\u2800"), "all of it can be seen"
    assert [query] == [call["query"] for call in CALLS["web"]]
    assert (
        [query] == [line["query"] for line in lines if line["event"] == "query"] == [event["query"] for event in told]
    )
