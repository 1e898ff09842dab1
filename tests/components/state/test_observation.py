"""The documents that a model is shown for a step."""

from prefrag.components.state.observation import observe
from prefrag.components.state.state import Action, Step
from tests.components.samples import document, found, search_step, state
from tests.for_each import for_each

ALPHA = document("alpha")


def test_document_is_shown_once_with_its_step_and_title_or_id():
    untitled = document("gamma", title=None)
    reached = observe(state(search_step("a"), search_step("b")), [ALPHA, ALPHA, untitled], "local")

    assert [(shown.id, shown.meta["step"]) for shown in reached.step.documents] == [("alpha", 2), ("gamma", 2)]
    assert (reached.step.source, reached.step.observed, reached.step.note) == ("local", True, "")
    assert reached.events[-1].data == {"source": "local", "documents": ["alpha", "gamma"]}


@for_each(
    "step, note",
    (search_step("a"), "No passages were found. Try other words."),
    (Step(Action.SEARCH, query="a"), "No passages were found."),
)
def test_advice_after_no_result_is_for_a_model_that_chose_words(step: Step, note: str):
    assert observe(state(step), [], None).step.note == note


class TestTheTrace:
    BETA, GAMMA = document("beta"), document("gamma")

    def test_refers_to_what_was_retrieved_or_selected_if_shown(self):
        searched = state(search_step("a", found(self.BETA), found(ALPHA, source="web")))
        selected = state(search_step("a", found(ALPHA))).with_event("selection", documents=["alpha"])

        assert observe(searched, [ALPHA], "web").events[-1].data == {
            "source": "web",
            "documents": ["alpha"],
            "same_as": "found",
        }
        assert observe(selected, [ALPHA], "local").events[-1].data["same_as"] == "selection"

    def test_names_the_few_left_out_or_else_those_shown(self):
        first, second = document("a", "One.", heading="X > One"), document("b", "Two.", heading="X > Two")
        first.meta["title"] = second.meta["title"] = "X"
        searched = state(search_step("a", found(first, second, ALPHA, self.BETA)))

        assert observe(searched, [first, ALPHA, self.BETA], "local").events[-1].data["left_out"] == ["X (Two)"]

        searched = state(search_step("a", found(ALPHA, self.BETA, self.GAMMA)))

        for shown in ([ALPHA], [ALPHA, document("delta")]):
            assert observe(searched, shown, "local").events[-1].data.keys() == {"source", "documents"}
