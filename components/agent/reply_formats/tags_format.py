"""The tags of models trained by reinforcement to search: Search-R1, ReSearch and their kin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from haystack.dataclasses import ChatMessage

from prefrag.components.agent.reply_formats.fields import Tool, find_tool, one_answer, plain_query
from prefrag.components.agent.reply_formats.reply_format import ReplyFormat, Turn
from prefrag.components.state.state import Action, State, Step

_TAG = re.compile(r"<(?P<slash>/?)(?P<name>[A-Za-z][\w.-]*)\s*>")
_BOXED = re.compile(r"\\boxed\s*\{(?P<answer>.*)\}", re.DOTALL)
_TEXT = re.compile(r"\\(?:text|math)\w*\s*\{(?P<answer>.*)\}", re.DOTALL)
_KEPT_CHARACTERS = 2_000
# The blocks that are taken out of the replies of all other formats.
_THINKING = ("think", "thinking")
_LAST_THOUGHT = "No further search is possible, so I answer now with what was found."


@dataclass(frozen=True)
class Tags:
    """The names of the tags, as the model was trained with them.

    :param think: Around what it thinks.
    :param search: Around a query.
    :param answer: Around the answer.
    :param observation: Around what a search found: ``information`` for Search-R1, ``result`` for ReSearch.
    """

    think: str = "think"
    search: str = "search"
    answer: str = "answer"
    observation: str = "information"

    def __post_init__(self) -> None:
        names = [getattr(self, field.name) for field in fields(self)]
        wrong = next((name for name in names if not re.fullmatch(r"[A-Za-z][\w.-]*", str(name))), None)
        if wrong is not None:
            raise ValueError(f"'{wrong}' is no name of a tag: give the word alone, as in `search: search`.")
        if len({name.lower() for name in names}) < len(names):
            raise ValueError("Two tags have the same name: think, search, answer and observation each need their own.")


class TagsFormat(ReplyFormat):
    """Reads ``<think>``, ``<search>`` and ``<answer>``.

    What the model thinks goes back to it, because it was trained to see it. Such models do not evaluate their answers.

    :param tags: The names of the tags.
    :param continue_turn: The transcript is the beginning of the model's own turn, as in its training; otherwise it
        stands in the user's message.
    """

    prompt = "reasoner_tags"
    cites = False

    def __init__(self, tags: Tags | None = None, continue_turn: bool = True):
        self.tags = tags or Tags()
        self.continue_turn = continue_turn

    @property
    def keeps_thinking(self) -> bool:
        """Whether thinking blocks are the thoughts of this format; with another tag for them they are not."""
        return self.tags.think.lower() in _THINKING

    def generation_kwargs(self, tools: Sequence[Tool], state: State, must_answer: bool) -> dict[str, Any]:
        """Choose the parameters of the call.

        :param tools: The tools that there are.
        :param state: The state of the run.
        :param must_answer: The model has to answer now.
        :returns: What the chat generator is given besides the messages.
        """
        names = [self.tags.search, *(tool.name for tool in tools if len(tools) > 1), self.tags.answer]
        kwargs: dict[str, Any] = {"stop": [f"</{name}>" for name in names]}
        if self.continue_turn and (must_answer or any(step.reply or step.observed for step in state.steps)):
            kwargs["extra_body"] = {"continue_final_message": True, "add_generation_prompt": False}
        return kwargs

    def messages(
        self, prompt: str, turns: Sequence[Turn], tools: Sequence[Tool], must_answer: bool
    ) -> list[ChatMessage]:
        """Lay out the conversation: the question, then the whole transcript as one turn of the model.

        :param prompt: The filled prompt.
        :param turns: The transcript.
        :param tools: The tools that there are.
        :param must_answer: The model is to answer now.
        :returns: What the model is sent.
        """
        parts = [self._turn(turn) for turn in turns]
        if must_answer:
            parts.append(f"{self._block(self.tags.think, _LAST_THOUGHT)}\n<{self.tags.answer}>")
        transcript = "\n\n".join(filter(None, parts))
        if not transcript:
            return [ChatMessage.from_user(prompt)]
        if not self.continue_turn:
            return [ChatMessage.from_user(f"{prompt}\n\n{transcript}")]
        return [ChatMessage.from_user(prompt), ChatMessage.from_assistant(transcript + ("" if must_answer else "\n\n"))]

    def read(self, text: str, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read the first step of a reply, whether or not the server left the tag that it stopped at.

        :param text: The reply, its thinking included.
        :param tools: The tools that it may name.
        :param must_answer: The reply is an answer, whatever it looks like.
        :returns: The step.
        """
        invented = next((tag for tag in self._spoken(text) if _is(tag, self.tags.observation)), None)
        if invented is not None:
            # A model that does not stop goes on with an observation of its own.
            text = text[: invented.start()]
        unknown: re.Match[str] | None = None
        for tag in self._spoken(text):
            if tag["slash"]:
                continue
            if _is(tag, self.tags.answer):
                if _answer(_content(text, tag)[0]):
                    return self._answered(text, tag)
            elif must_answer:
                continue
            elif self._tool(tag, tools) is not None:
                return self._searched(text, tag, tools)
            elif _content(text, tag)[1]:
                unknown = unknown or tag
        if must_answer:
            return self._forced(text)
        if unknown is not None:
            return self._searched(text, unknown, tools)
        return Step(Action.UNREADABLE, reply=self._kept(text)[:_KEPT_CHARACTERS], thought=_words(text))

    def _turn(self, turn: Turn) -> str:
        step, observation = turn
        reply = step.reply
        if step.action is Action.SEARCH and not _TAG.search(reply) and (reply or observation is not None):
            # A search that was not written in this format, or not by a model.
            thought = self._block(self.tags.think, step.thought) + "\n" if step.thought else ""
            reply = thought + self._block(self.tags.search, step.query)
        shown = self._block(self.tags.observation, f"\n{observation}\n") if observation is not None else ""
        return "\n\n".join(filter(None, (reply.strip(), shown)))

    def _spoken(self, text: str) -> Iterator[re.Match[str]]:
        """Find the tags outside of thoughts: a model also thinks about its tags.

        :param text: The reply.
        :returns: The tags, in order.
        """
        thoughts = [tag for tag in _TAG.finditer(text) if _is(tag, self.tags.think)]
        # The chat template may have put the opening tag into the prompt.
        thinking = bool(thoughts and thoughts[0]["slash"])
        for tag in _TAG.finditer(text):
            if thoughts and tag.start() == thoughts[0].start():
                thinking = not thoughts.pop(0)["slash"]
            elif not (thinking and thoughts and thoughts[0]["slash"]):
                # A thought that is never closed ends where something else begins.
                yield tag

    def _tool(self, tag: re.Match[str], tools: Sequence[Tool]) -> Tool | None:
        if _is(tag, self.tags.search):
            # The one tag that these models know leaves the source to the router, where there are several.
            return tools[0] if len(tools) == 1 else Tool(self.tags.search, "")
        return find_tool(tag["name"], tools)

    def _searched(self, text: str, tag: re.Match[str], tools: Sequence[Tool]) -> Step:
        tool, thought = self._tool(tag, tools), _words(text[: tag.start()])
        content, _ = _content(text, tag)
        query = plain_query(_TAG.sub(" ", content))
        reply = self._kept(text[: tag.start()]) + self._block(tag["name"], content)
        if tool is None:
            return Step(Action.UNKNOWN_ACTION, reply=reply, thought=thought, tool=tag["name"], query=query)
        if not query:
            return Step(Action.UNREADABLE, reply=reply, thought=thought, tool=tool.name)
        return Step(Action.SEARCH, reply=reply, thought=thought, tool=tool.name, query=query, named_source=tool.source)

    def _answered(self, text: str, tag: re.Match[str]) -> Step:
        content, _ = _content(text, tag)
        reply = self._kept(text[: tag.start()]) + self._block(tag["name"], content)
        return Step(Action.ANSWER, reply=reply, thought=_words(text[: tag.start()]), answer=_answer(content))

    def _forced(self, text: str) -> Step:
        # The transcript ends with the opening tag, so a reply that goes on from there starts with the answer itself.
        thoughts = [tag for tag in _TAG.finditer(text) if _is(tag, self.tags.think)]
        behind = text[next((tag.end() for tag in reversed(thoughts) if tag["slash"]), 0) :]
        answer = _answer(_TAG.split(behind, maxsplit=1)[0])
        if not answer:
            return Step(Action.UNREADABLE, reply=self._kept(text)[:_KEPT_CHARACTERS])
        return Step(Action.ANSWER, reply=self._block(self.tags.answer, answer), answer=answer)

    def _kept(self, text: str) -> str:
        """Add the opening tag of a thought of which only the closing one is there.

        :param text: The reply, or its beginning.
        :returns: The text with both.
        """
        first = next((tag for tag in _TAG.finditer(text) if _is(tag, self.tags.think)), None)
        return (f"<{self.tags.think}>" if first is not None and first["slash"] else "") + text.lstrip()

    @staticmethod
    def _block(name: str, content: str) -> str:
        return f"<{name}>{content}</{name}>"


def _is(tag: re.Match[str], name: str) -> bool:
    return tag["name"].lower() == name.lower()


def _content(text: str, opening: re.Match[str]) -> tuple[str, bool]:
    """Read what stands in a tag; servers take the closing tag away that they stop at.

    :param text: The reply.
    :param opening: The opening tag.
    :returns: The content, and whether the tag is closed.
    """
    following = [tag for tag in _TAG.finditer(text, opening.end()) if tag["slash"]]
    closing = next((tag for tag in following if _is(tag, opening["name"])), None)
    if closing is not None:
        return text[opening.end() : closing.start()].strip(), True
    following = list(_TAG.finditer(text, opening.end()))
    return text[opening.end() : following[0].start() if following else len(text)].strip(), False


def _words(text: str) -> str:
    """Put a text on one line, without tags.

    :param text: The text.
    :returns: Its words.
    """
    return " ".join(_TAG.sub(" ", text).split())


def _answer(content: str) -> str:
    """Read an answer; ReSearch puts it into a box of LaTeX.

    :param content: What stands in the tag.
    :returns: The answer in plain words.
    """
    if boxed := _BOXED.search(content):
        content = boxed["answer"]
    if text := _TEXT.fullmatch(content.strip()):
        content = text["answer"]
    return one_answer(_TAG.sub(" ", content))
