"""The text format, read as the published code of PrefRAG's authors reads it."""

from collections.abc import Sequence

from prefrag.components.reasoner.reply_formats.fields import Tool
from prefrag.components.reasoner.reply_formats.text_format import TextFormat
from prefrag.components.state.state import Step


class PublishedTextFormat(TextFormat):
    """Differs from the text format in two places, which the paper leaves open (`main.py` 154-179 and 234-244).

    If a reply has both an action and a final answer, the last final answer counts. If it has a self-evaluation but no
    final answer, all text before the self-evaluation is the answer.
    """

    def read_fields(self, parts: list[tuple[str, str]], tools: Sequence[Tool], must_answer: bool) -> Step:
        """Read the answer of a reply, or else its first step."""
        names = [name for name, _ in parts]
        own = parts[: names.index("Observation")] if "Observation" in names else parts
        answers = [place for place, (name, value) in enumerate(own) if name == "Final Answer" and value]
        if answers:
            return self.read_answer(own, answers[-1])
        evaluated = next((place for place, (name, _) in enumerate(own) if name == "Self-Evaluation"), 0)
        before = " ".join(value for _, value in own[:evaluated] if value)
        if before:
            return self.read_answer([("Final Answer", before), *own[evaluated:]], 0)
        return super().read_fields(parts, tools, must_answer)
