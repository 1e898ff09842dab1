"""If a request or its key closes the web, no method offers the web to its model or searches it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from prefrag import pipelines
from prefrag.components.state.state import Event
from prefrag.components.state.web_switch import CLOSED_BY_KEY, web_closed_by, web_setting
from prefrag.components.web.web_gate import HeldBack, WebGate
from prefrag.pipelines.trace_text import trace_text
from tests.fakes import CALLS
from tests.pipelines.scripted import answer, local, scripted, search, verdict, web
from tests.pipelines.scripted_mspr import final, mspr

QUESTION = "In which year did the yard that built alpha win the delta prize?"
NOTHING_GOOD = json.dumps({"1": 0, "2": 0})

CHOSEN = (web("delta"), local("alpha"), answer("x", "INCORRECT"), answer())
# Each of these searches the web unless something closes it.
METHODS: dict[str, Callable[[], Any]] = {
    "prefrag": lambda: scripted(search("delta"), answer("x", "INCORRECT"), answer(), verdicts=(verdict(False),)),
    "prefrag_three_sources": lambda: scripted(
        answer("x", "INCORRECT"), answer(), pipeline="prefrag_three_sources", documents={"local": {}, "archive": {}}
    ),
    "prefrag_without_reflection": lambda: scripted(
        search("alpha"), search("delta"), answer(), verdicts=(verdict(False),), pipeline="prefrag_without_reflection"
    ),
    "prefrag_direct": lambda: scripted(*CHOSEN, pipeline="prefrag_direct"),
    "prefrag_without_preference": lambda: scripted(*CHOSEN, pipeline="prefrag_without_preference"),
    "mspr": lambda: mspr(local("alpha"), web("delta"), final(), verdicts=(verdict(False),)),
    "react": lambda: scripted(*CHOSEN, pipeline="react"),
    "react_mix": lambda: scripted(search("alpha"), answer(), pipeline="react_mix"),
    "vanilla_mix": lambda: scripted("1974", pipeline="vanilla_mix"),
    "crag": lambda: scripted(NOTHING_GOOD, NOTHING_GOOD, '{"query": "delta"}', "1974", pipeline="crag"),
}
# What the environment and the key say, what the request asks for, and the reason in the trace.
CLOSED: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "request": ("on", "", {"web": False}, "the web is closed by this request"),
    "key": ("on", CLOSED_BY_KEY, {}, "the web is closed for the key of this request"),
    "key, asked for": ("on", CLOSED_BY_KEY, {"web": True}, "the web is closed for the key of this request"),
    "key and request": ("on", CLOSED_BY_KEY, {"web": False}, "the web is closed for the key of this request"),
    "administrator": ("off", "", {}, "the web is closed by PREFRAG_WEB=off"),
    "administrator, asked for": ("off", "", {"web": True}, "the web is closed by PREFRAG_WEB=off"),
    "administrator, named": ("off", "", {"sources": ["local", "web"]}, "the web is closed by PREFRAG_WEB=off"),
}


def reason(result: dict[str, Any]) -> str:
    (event,) = [event for event in result["trace"] if event["kind"] == "closed"]
    return trace_text(Event("closed", 0, event))


@pytest.mark.parametrize("method", METHODS)
class TestEveryMethod:
    async def test_searches_the_web_where_nothing_closes_it(self, method: str):
        result = await pipelines.ask_async(METHODS[method](), QUESTION, web=True)

        assert result["queries_sent_out"]

    @pytest.mark.parametrize("closed", CLOSED)
    async def test_stays_at_home_where_it_is_closed(self, method: str, closed: str, monkeypatch: pytest.MonkeyPatch):
        setting, by_key, options, why = CLOSED[closed]
        monkeypatch.setenv("PREFRAG_WEB", setting)
        token = web_closed_by.set(by_key)
        try:
            result = await pipelines.ask_async(METHODS[method](), QUESTION, **options)
        finally:
            web_closed_by.reset(token)

        assert "web" not in CALLS
        assert result["queries_sent_out"] == result["queries_held_back"] == []
        assert reason(result) == f"Not searched: web ({why})"


async def test_the_closed_web_is_not_offered_to_the_model():
    await pipelines.ask_async(METHODS["mspr"](), QUESTION, web=False)

    assert "Search_Web" not in CALLS["model"][0]["prompt"]


async def test_the_web_alone_is_refused_before_the_run():
    with pytest.raises(ValueError, match="No source is left to search: the web is closed by this request"):
        await pipelines.begin(METHODS["prefrag"](), QUESTION, web=False, sources=["web"])


async def test_the_stand_in_of_the_web_is_closed_too():
    pipeline = METHODS["prefrag"]()
    for name in ("web", "web_again"):
        pipeline.get_component(name).retriever.stays_local = True

    await pipelines.ask_async(pipeline, QUESTION, web=False)

    assert "web" not in CALLS


async def test_a_closed_web_is_not_closed_for_a_run_beside_it():
    closed = pipelines.stream(METHODS["prefrag"](), QUESTION, web=False)
    opened = pipelines.stream(METHODS["vanilla_mix"](), QUESTION)
    results: list[dict[str, Any]] = []
    running = [closed, opened]
    while running:
        for run in list(running):
            output = await anext(run, None)
            if output is None:
                running.remove(run)
            elif isinstance(output, dict):
                results.append(output)

    assert sorted(len(result["queries_sent_out"]) for result in results) == [0, 1]
    assert web_setting() == "on"


def test_a_closed_web_stays_closed_in_another_thread():
    token = web_closed_by.set(CLOSED_BY_KEY)
    try:
        result = pipelines.ask(QUESTION, METHODS["vanilla_mix"]())
    finally:
        web_closed_by.reset(token)

    assert result["queries_sent_out"] == []
    assert "web" not in CALLS


class TestTheGate:
    """The gate itself stops queries without a run's state, such as those of a source that gets a bare query."""

    def test_holds_back_every_query(self):
        token = web_closed_by.set(CLOSED_BY_KEY)
        try:
            with pytest.raises(HeldBack, match=CLOSED_BY_KEY):
                WebGate().check("web", "delta", None)
        finally:
            web_closed_by.reset(token)

    def test_searches_no_bare_query(self):
        web = METHODS["prefrag"]().get_component("web")
        token = web_closed_by.set(CLOSED_BY_KEY)
        try:
            assert web.run(query="delta")["documents"] == []
        finally:
            web_closed_by.reset(token)
        assert "web" not in CALLS
