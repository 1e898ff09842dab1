"""The reflection on an answer."""

from typing import Any

from prefrag.components.loop.self_reflector import SelfReflector
from prefrag.components.state.state import Label, State
from tests.components.samples import QUESTION, answer_step, document, kinds, observed_step, settings, state
from tests.fakes import CALLS, ScriptedChatGenerator
from tests.for_each import for_each

DOUBT = '{"explanation": "No passage says so.", "label": "INCORRECT", "suggestions": "Search for it."}'
NEGATIVE = [Label.INCORRECT, Label.PARTIALLY_CORRECT]


def reflector(*script: str, **changes: Any) -> SelfReflector:
    if script:
        changes = {"reflection": "call", "chat_generator": ScriptedChatGenerator(list(script)), **changes}
    return SelfReflector(**changes)


def reflected(reached: State, *script: str, **changes: Any) -> tuple[str, State]:
    output = reflector(*script, **changes).run(reached)
    assert len(output) == 1
    return next(iter(output.items()))


def labelled(label: Label | None, supplements: int = 0, **changes: Any) -> State:
    return State(QUESTION, settings(**changes), steps=(answer_step("1812", label=label),), supplements=supplements)


class TestLabelOfTheReply:
    @for_each("label", Label.CORRECT, None)
    def test_without_doubt_is_accepted(self, label: Label | None):
        output, reached = reflected(labelled(label))

        assert output == "accepted"
        assert reached.events[-1].data["label"] == (label.value if label else None)
        assert reached.supplements == 0

    @for_each("label", *NEGATIVE)
    def test_a_negative_label_searches_every_allowed_source(self, label: Label):
        output, reached = reflected(labelled(label, sources=("local", "archive")))

        assert output == "supplement"
        assert (reached.supplements, reached.query) == (1, QUESTION)
        assert [event.to_dict() for event in reached.events[1:]] == [
            {"kind": "search", "step": 1, "source": source, "query": QUESTION} for source in ("local", "archive")
        ]

    @for_each(
        "sources, asked",
        (("local", "archive", "web"), ("archive", "web")),
        # If the web is closed, the supplement searches the local source.
        (("local",), ("local",)),
    )
    def test_a_negative_label_searches_the_others_where_set(self, sources: Any, asked: Any):
        _, reached = reflected(labelled(Label.INCORRECT, sources=sources), supplement="others")

        assert reached.step.asked == asked
        assert [event.data["source"] for event in reached.events[1:]] == list(asked)

    @for_each("label", *NEGATIVE)
    @for_each("supplements, allowed", (1, 1), (0, 0), (2, 1))
    def test_that_is_negative_again_ends_with_the_answer(self, label: Label, supplements: int, allowed: int):
        output, reached = reflected(labelled(label, supplements, max_supplements=allowed))

        assert output == "accepted"
        assert reached.events[-1].data["supplement"] is False


class TestCallOfItsOwn:
    def test_shows_question_answer_and_passages_if_there_are_any(self):
        for steps, passages in (([observed_step(document("alpha"))], "About alpha."), ([], "(none)")):
            reflected(state(*steps, answer_step("1812")), DOUBT)
            prompt = CALLS["model"][-1]["prompt"]
            assert QUESTION in prompt
            assert passages in prompt
            assert prompt.endswith("Answer: 1812")

    def test_replaces_the_label_of_the_reply(self):
        output, reached = reflected(labelled(Label.CORRECT), DOUBT)

        assert (output, reached.step.label) == ("supplement", Label.INCORRECT)
        assert (reached.step.explanation, reached.step.suggestions) == ("No passage says so.", "Search for it.")
        assert reached.usage.llm_calls == {"reflector": 1}
        assert reflected(labelled(Label.CORRECT), "I cannot say.")[1].step.label is Label.CORRECT

    @for_each(
        "reply, label",
        ("PARTIALLY CORRECT, since the passages are incorrect on it", Label.PARTIALLY_CORRECT),
        ("PARTIALLY CORRECT or INCORRECT", None),
        ("The answer is INCORRECT.", Label.INCORRECT),
        ('```json\n{"label": "partially correct"', Label.PARTIALLY_CORRECT),
        ('{"label": null, "explanation": null}', None),
        ("", None),
        ("<think>INCORRECT</think>", None),
    )
    def test_is_understood_however_the_model_writes(self, reply: str, label: Label | None):
        reached = reflected(labelled(None), reply)[1]

        assert reached.step.label is label
        assert reached.step.explanation != "None"

    def test_shortens_the_newest_passages_before_it_leaves_them_out(self):
        long = observed_step(document("alpha", content="Alpha. " * 2_000))

        reached = reflected(
            state(long, answer_step("1812")),
            chat_generator=ScriptedChatGenerator([DOUBT], context_window=1_500),
            reflection="call",
        )[1]

        assert "Alpha. Alpha." in CALLS["model"][0]["prompt"]
        assert kinds(reached)[0] == "cut"
