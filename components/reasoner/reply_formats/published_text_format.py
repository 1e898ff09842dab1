"""The text format, read as the published code of PrefRAG's authors reads it."""

from collections.abc import Sequence

from prefrag.components.reasoner.reply_formats.fields import Tool
from prefrag.components.reasoner.reply_formats.text_format import TextFormat
from prefrag.components.state.state import Step


class PublishedTextFormat(TextFormat):
    """The text format with two differences, which the paper leaves open (`main.py` 154-179 and 234-244).

    First, if a reply has both an action and a final answer, the last final answer counts. Second, if a reply has a
    self-evaluation but no final answer, all text before the self-evaluation is the answer.
    """

    def read_fields(self, parts: list[tuple[str, str]], tools: Sequence[Tool], must_answer: bool) -> Step:
        """Read the answer of a reply or, if there is none, its first step.

        :param parts: The fields of the reply, each a name and a text, in order.
        :param tools: The tools that a search can name.
        :param must_answer: If True, only an answer is read.
        :returns: The step.
        """
        names = [name for name, _ in parts]
        # The model invented an observation, so it and what follows are left out.
        own = parts
        if "Observation" in names:
            own = parts[: names.index("Observation")]
        answers = [place for place, (name, value) in enumerate(own) if name == "Final Answer" and value]
        if answers:
            return self.read_answer(own, answers[-1])

        # Without an answer, all text before an evaluation is the answer.
        names_of_own = names[: len(own)]
        if "Self-Evaluation" in names_of_own:
            place = names_of_own.index("Self-Evaluation")
            before = " ".join(value for _, value in own[:place] if value)
            if before:
                return self.read_answer([("Final Answer", before), *own[place:]], 0)
        return super().read_fields(parts, tools, must_answer)
