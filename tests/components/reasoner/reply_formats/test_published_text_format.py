"""Where the published code of PrefRAG's authors reads a reply in another way than the text format."""

from prefrag.components.reasoner.reply_formats import PublishedTextFormat, TextFormat, Tool
from prefrag.components.state.state import Action, Label, Step
from tests.for_each import for_each

TOOLS = [Tool("Search_Engine", "Finds.")]
SEARCH = "Thought: I look it up.\nAction: Search_Engine\nAction Input: the yard"
BOTH = f"{SEARCH}\nFinal Answer: 1974\nSelf-Evaluation: INCORRECT\nExplanation: a guess"


def read(text: str, must_answer: bool = False) -> Step:
    return PublishedTextFormat().read(text, TOOLS, must_answer=must_answer)


def test_answer_wins_over_an_action_and_the_last_answer_counts():
    step = read(BOTH)

    assert (step.action, step.answer, step.label) == (Action.ANSWER, "1974", Label.INCORRECT)
    assert TextFormat().read(BOTH, TOOLS, must_answer=False).action is Action.SEARCH
    assert read(f"Final Answer: 1973\nThought: no\n{BOTH}").answer == "1974"


def test_text_before_an_evaluation_is_the_answer_without_another():
    step = read("Thought: it was 1974\nSelf-Evaluation: CORRECT\nExplanation: the passage says so")

    assert (step.action, step.answer, step.label) == (Action.ANSWER, "it was 1974", Label.CORRECT)


@for_each(
    "text",
    SEARCH,
    f"{SEARCH}\nObservation: Final Answer: 1999",
    "Thought: nothing yet",
    "Self-Evaluation: CORRECT",
    f"{SEARCH}\nFinal Answer:",
)
def test_every_other_reply_is_read_as_in_the_text_format(text: str):
    assert read(text) == TextFormat().read(text, TOOLS, must_answer=False)


def test_a_forced_answer_needs_no_field():
    assert read("1974", must_answer=True).answer == "1974"
