"""What the model is shown of a retrieval's results."""

import pytest
from haystack import Document

from prefrag.components.loop.observation_recorder import ObservationRecorder
from prefrag.components.state.state import Search, State
from tests.components.samples import answer_step, document, found, kinds, observed_step, search_step, state
from tests.for_each import for_each

ALPHA, BETA, GAMMA = document("alpha"), document("beta"), document("gamma")
OVER = "New passages were found, but no more than 1 are shown."


def recorded(*states: State, merge: bool = False) -> State:
    return ObservationRecorder(merge).run(list(states))["state"]


def collected(reached: State, max_documents: int) -> State:
    return ObservationRecorder(max_documents=max_documents).run([reached])["state"]


def ids(reached: State) -> list[str]:
    return [shown.id for shown in reached.step.documents]


class TestAfterAStep:
    def test_the_documents_of_the_last_retrieval_are_the_observation(self):
        reached = recorded(state(search_step("a", found(ALPHA), found(BETA, source="web"))))

        assert ids(reached) == ["beta"]
        assert reached.step.source == "web"
        assert reached.step.observed
        assert reached.events[-1].data == {"source": "web", "documents": ["beta"], "same_as": "found"}

    def test_an_empty_alternative_leaves_the_preferred_passages(self):
        failed = Search("web", "a", error="rate limit")

        reached = recorded(state(search_step("a", found(ALPHA), failed)))

        assert (ids(reached), reached.step.source) == (["alpha"], "local")

    @for_each("searches", (), (found(),), (Search("web", "a", skipped=True),))
    def test_nothing_found_is_reported_to_the_model(self, searches: tuple[Search, ...]):
        reached = recorded(state(search_step("a", *searches)))

        assert reached.step.documents == ()
        assert "No passages were found" in reached.step.note
        assert reached.step.source is None


class TestSupplement:
    def way(self, source: str, *documents: object, **changes: object) -> State:
        start = state(answer_step(), sources=("local", "archive", "web"), **changes).with_event("reflection")
        search = found(*documents, source=source)  # type: ignore[arg-type]
        return start.with_last(searches=(search,)).with_event("found", source=source)

    @for_each("order", ("web", "archive", "local"), ("local", "web", "archive"))
    def test_a_supplement_shows_the_preferred_source_first(self, order: tuple[str, ...]):
        reached = recorded(*(self.way(source, document(source)) for source in order), merge=True)

        assert ids(reached) == ["local", "archive", "web"]
        assert reached.step.source == "local+archive+web"

    def test_a_supplement_shows_a_document_of_two_sources_once(self):
        ways = [self.way(source, document(source), preferred="web") for source in ("local", "web")]

        assert ids(recorded(*ways, merge=True)) == ["web", "local"]
        assert ids(recorded(self.way("web", ALPHA), self.way("local", ALPHA, BETA), merge=True)) == ["alpha", "beta"]
        # Only sources that found something are named.
        assert recorded(self.way("local", ALPHA), self.way("web"), merge=True).step.source == "local"

        other = document("alpha", content="Another alpha.")

        reached = recorded(self.way("local", ALPHA), self.way("web", other), merge=True)

        assert [shown.content for shown in reached.step.documents] == [ALPHA.content, other.content]

    @for_each("order", ("web", "archive", "local"), ("archive", "web", "local"))
    def test_is_recorded_in_one_order_in_whatever_order_they_answer(self, order: tuple[str, ...]):
        reached = recorded(*(self.way(source, document(source)) for source in order), merge=True)

        assert [search.source for search in reached.step.searches] == ["local", "archive", "web"]
        assert [event.data["source"] for event in reached.events[1:4]] == ["local", "archive", "web"]

    def test_reports_what_happened_before_once_and_then_each_source(self):
        reached = recorded(self.way("local", ALPHA), self.way("web", BETA), merge=True)

        assert kinds(reached) == ["reflection", "found", "found", "observation"]


class TestCollectedDocuments:
    @for_each(
        "documents, limit, shown, note",
        pytest.param((ALPHA, BETA), 15, ["beta"], "", id="a document is shown once in a run"),
        pytest.param((BETA, GAMMA), 2, ["beta"], "", id="no more are shown than the limit of the run"),
        pytest.param((BETA, BETA, GAMMA), 3, ["beta", "gamma"], "", id="one of two equal documents counts"),
        pytest.param((ALPHA,), 15, [], "Nothing new was found.", id="nothing new is reported to the model"),
        pytest.param((BETA,), 1, [], OVER, id="what is new and over the limit is not reported as nothing new"),
    )
    def test_after_an_earlier_step(self, documents: tuple[Document, ...], limit: int, shown: list[str], note: str):
        reached = collected(state(observed_step(ALPHA), search_step("b", found(*documents))), max_documents=limit)

        assert (ids(reached), reached.step.source, reached.step.note) == (shown, "local" if shown else None, note)

    @for_each("limit", 0, -1)
    def test_a_limit_that_shows_nothing_is_refused(self, limit: int):
        with pytest.raises(ValueError, match="set it to a whole number of at least 1"):
            ObservationRecorder(max_documents=limit)
