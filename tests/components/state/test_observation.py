"""The documents that a model is shown for a step."""

from __future__ import annotations

import pytest

from prefrag.components.state.observation import observe
from prefrag.components.state.state import Action, Step
from tests.components.samples import document, search_step, state

ALPHA = document("alpha")


def test_each_document_is_shown_once_and_stamped_with_its_step():
    reached = observe(state(search_step("a"), search_step("b")), [ALPHA, ALPHA], "local")

    [shown] = reached.step.documents
    assert (shown.id, shown.meta["step"]) == ("alpha", 2)
    assert (reached.step.source, reached.step.observed, reached.step.note) == ("local", True, "")
    assert reached.events[-1].data == {"source": "local", "documents": ["alpha"]}


@pytest.mark.parametrize(
    ("step", "note"),
    [
        (search_step("a"), "No passages were found. Try other words."),
        (Step(Action.SEARCH, query="a"), "No passages were found."),
    ],
    ids=["words of a model", "the question itself"],
)
def test_where_nothing_was_found_only_a_model_that_chose_the_words_is_advised(step: Step, note: str):
    assert observe(state(step), [], None).step.note == note


def test_a_document_without_a_title_is_named_by_its_id():
    untitled = document("gamma", title=None)

    assert observe(state(search_step("a")), [untitled], "local").events[-1].data["documents"] == ["gamma"]
