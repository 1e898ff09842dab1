"""The branch that a question takes, by its class."""

from typing import Any

from prefrag.components.adaptive_rag.question_classifier import Estimate
from prefrag.components.adaptive_rag.question_router import QuestionRouter
from prefrag.components.state.state import RunSettings, State
from tests.fakes import FixedQuestionClassifier
from tests.for_each import for_each

START = State("Who built alpha?", RunSettings(sources=("local",), preferred="local"))
ALL = {"no_retrieval": 0.5, "single_step": 0.3, "multi_step": 0.2}


def route(probabilities: dict[str, float], doubt: str = "", **settings: Any) -> tuple[str, dict[str, Any]]:
    """The output and the event."""
    router = QuestionRouter(FixedQuestionClassifier(probabilities, doubt), **settings)
    ((name, state),) = router.run(START).items()
    (event,) = state.events
    assert (event.kind, event.data["chosen"]) == ("question_class", name)
    return name, dict(event.data)


@for_each("name", "no_retrieval", "single_step", "multi_step")
def test_the_likeliest_class_is_taken_and_stated(name: str):
    taken, event = route({**dict.fromkeys(ALL, 0.2), name: 0.6})

    assert taken == name
    assert (event["probability"], event["reason"]) == (0.6, "the likeliest class")
    assert event["probabilities"][name] == 0.6


def test_an_unknown_class_is_never_the_likeliest():
    taken, event = route({"single_step": 0.4, "multi_step": 0.6})

    assert (taken, event["probabilities"]["no_retrieval"]) == ("multi_step", 0.0)


@for_each(
    "probabilities, settings, chosen",
    # Of two classes that are equally likely, the one with more retrieval is chosen.
    ({"single_step": 0.5, "multi_step": 0.5}, {}, "multi_step"),
    # Classes can be left out. If no known class is left, the one with most retrieval is chosen.
    ({"single_step": 0.2, "multi_step": 0.8}, {"classes": ["no_retrieval", "single_step"]}, "single_step"),
    ({"no_retrieval": 1.0}, {"classes": ["single_step", "multi_step"]}, "multi_step"),
    # A class below its least probability is passed over for one with more retrieval, if there is one.
    (ALL, {"least_probability": {"no_retrieval": 0.8, "single_step": 0.5}}, "multi_step"),
    (ALL, {"least_probability": {"no_retrieval": 0.5}}, "no_retrieval"),
    ({"single_step": 0.4, "multi_step": 0.6}, {"least_probability": {"multi_step": 0.9}}, "multi_step"),
)
def test_settings_and_ties_choose_by_how_much_is_retrieved(
    probabilities: dict[str, float], settings: dict[str, Any], chosen: str
):
    assert route(probabilities, **settings)[0] == chosen


class TestAClosedClass:
    def test_a_closed_class_leaves_its_probability_to_the_others(self):
        taken, event = route(ALL, classes=["single_step", "multi_step"])

        assert (taken, event["probability"]) == ("single_step", 0.6)
        assert set(event["probabilities"]) == {"single_step", "multi_step"}

        taken, event = route(ALL, classes=["single_step"])

        assert (taken, event["reason"]) == ("single_step", "no other class is allowed")


def test_a_missed_least_probability_takes_the_next_class():
    taken, event = route(ALL, least_probability={"no_retrieval": 0.8})

    assert taken == "single_step"
    assert event["reason"] == "no_retrieval is the likeliest class with 50%, but needs 80% to be chosen"


def test_where_the_classifier_doubts_most_is_retrieved():
    taken, event = route(ALL, doubt="it knows English alone")

    assert taken == "multi_step"
    assert event["reason"] == "it knows English alone, so the class with the most retrieval is chosen"
    assert route(ALL, doubt="it knows English alone", classes=["no_retrieval", "single_step"])[0] == "single_step"


def test_the_estimate_is_of_the_question_that_stands_alone():
    class Listening(FixedQuestionClassifier):
        def classify(self, question: str) -> Estimate:
            heard.append(question)
            return Estimate(ALL)

    heard: list[str] = []

    QuestionRouter(Listening(ALL)).run(START)

    assert heard == ["Who built alpha?"]
