"""The settings of a pipeline, and how a request narrows them."""

from typing import Any

import pytest

from prefrag.components.sources.source_rules import SourceRules
from prefrag.components.state.state_builder import StateBuilder
from prefrag.components.state.web_switch import web_is_off
from tests.for_each import for_each


def builder(**changes: Any) -> StateBuilder:
    return StateBuilder(
        **{"sources": ["local", "archive", "web"], "preferred": "local", "external_sources": ["web"], **changes}
    )


class TestRun:
    def test_question_may_have_another_answer_kind_but_no_prompts(self):
        at = builder(prompts="plain")

        assert at.run("Is it?", answer_type="yes_no")["state"].settings.answer_type == "yes_no"
        assert at.run("Is it?")["state"].settings.answer_type == "short"
        assert at.run("Is it?")["state"].settings.prompts == "plain"
        with pytest.raises(ValueError, match="answer_type: Input should be"):
            at.run("Is it?", answer_type="essay")

    def test_plain_question_has_the_settings_of_the_pipeline(self):
        """Its own top_k may always be requested."""

        state = builder().run("  Who?  ")["state"]
        assert state.question == "Who?"
        assert state.settings.sources == ("local", "archive", "web")
        assert (state.settings.preferred, state.settings.top_k, state.settings.max_steps) == ("local", 5, 3)
        assert state.steps == ()
        assert state.started > 0
        assert builder(top_k=50, max_top_k=20).run("q", top_k=50)["state"].settings.top_k == 50

    @for_each(
        "options, settings",
        (
            {"sources": ["web", "archive"], "preferred": "web"},
            {"sources": ("archive", "web"), "preferred": "web", "max_steps": 3},
        ),
        # If the preferred source is not allowed, the first allowed one is preferred.
        ({"sources": ["archive", "web"], "max_steps": 0}, {"preferred": "archive", "max_steps": 0}),
    )
    def test_a_request_narrows_and_keeps_the_order_of_the_pipeline(self, options: Any, settings: Any):
        reached = builder().run("Who?", **options)["state"].settings

        assert {name: getattr(reached, name) for name in settings} == settings


class TestFilters:
    @for_each(
        "filters",
        {"field": "meta.year", "operator": ">", "value": 2000},
        {"field": "meta.day", "operator": "<", "value": "2024-05-01"},
        {"operator": "NOT", "conditions": [{"field": "meta.kind", "operator": "in", "value": ["a", "b"]}]},
    )
    def test_haystacks_filters_are_passed_on(self, filters: dict[str, Any]):
        assert builder().run("Who?", filters=filters)["state"].settings.filters == filters

    @for_each(
        "filters",
        {"year": 2000},
        {"field": "meta.year", "operator": "about", "value": 2000},
        {"field": "meta.year", "operator": ">"},
        {"operator": "XOR", "conditions": []},
        {
            "operator": "AND",
            "conditions": [{"field": "meta.year", "operator": "==", "value": 1}, {"field": "meta.kind"}],
        },
        {"operator": "AND", "conditions": "all"},
        "year > 2000",
    )
    def test_filter_that_no_source_reads_is_refused_before_any_query(self, filters: Any):
        with pytest.raises(ValueError, match="filters cannot be understood.*meta.year"):
            builder().run("Who?", filters=filters)


class TestTheAdministratorsSwitch:
    @for_each("value", "off", "OFF", "no", "disabled", "never", "onn")
    def test_is_off_where_it_is_not_understood_too(self, monkeypatch: pytest.MonkeyPatch, value: str):
        monkeypatch.setenv("PREFRAG_WEB", value)

        assert web_is_off()
        assert builder().run("Who?")["state"].settings.sources == ("local", "archive")

    def test_where_it_is_not_set_the_indexes_decide(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.delenv("PREFRAG_WEB")
        start = builder()

        assert start.run("Who?")["state"].settings.sources == ("local", "archive"), "no pipeline was loaded"
        start.rules = SourceRules()
        assert start.run("Who left?")["state"].settings.sources == ("local", "archive"), "the rules know no pipeline"

    def test_closes_a_preferred_source_and_the_trace_says_why(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_WEB", "off")

        (event,) = builder().run("Who?")["state"].events

        assert (event.kind, event.data["sources"]) == ("closed", ["web"])
        assert "PREFRAG_WEB=off" in event.data["reason"]
        assert builder().run("Who?", sources=["local"])["state"].events == ()
        assert builder(preferred="web").run("Who?")["state"].settings.preferred == "local"
        with pytest.raises(ValueError, match="cannot be preferred"):
            builder().run("Who?", preferred="web")


class TestWithoutASource:
    @for_each("option", {"sources": ["local"]}, {"preferred": "local"})
    def test_nothing_is_searched_preferred_or_requested(self, monkeypatch: pytest.MonkeyPatch, option: dict[str, Any]):
        monkeypatch.setenv("PREFRAG_WEB", "off")

        settings = StateBuilder([], None).run("Who?", sources=[], top_k=2)["state"].settings

        assert (settings.sources, settings.preferred, settings.top_k) == ((), "", 2)
        with pytest.raises(ValueError, match="this pipeline retrieves nothing"):
            StateBuilder([], None).run("Who?", **option)
