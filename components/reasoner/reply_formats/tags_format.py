"""The tags format, written by models that were trained by reinforcement to search (Search-R1, ReSearch)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from haystack.dataclasses import ChatMessage

from prefrag.components.block import Block
from prefrag.components.reasoner.reply_formats.fields import (
    MAX_ANSWER_CHARACTERS,
    Tool,
    announces_search,
    find_tool,
    one_answer,
    plain_query,
    shorten,
)
from prefrag.components.reasoner.reply_formats.reply_format import ReplyFormat, Turn
from prefrag.components.state.state import Action, State, Step

_TAG = re.compile(r"<(?P<slash>/?)(?P<name>[A-Za-z][\w.-]*)\s*>")
# A model that does not stop repeats its tags, so each step of the parsing looks at no more than this many.
_MOST_TAGS = 200
# The blocks that are removed from the replies in all other formats.
_THINKING = ("think", "thinking")
_LAST_THOUGHT = "No further search is possible, so I answer now with what was found."


class TagsFormat(Block, ReplyFormat):
    """The format of ``<think>``, ``<search>`` and ``<answer>``, or of other tags that a model was trained with.

    The model's thoughts stay in its transcript, as in its training. Such models do not evaluate their answers.
    """

    prompt = "reasoner_tags"
    cites = False

    def __init__(
        self,
        think: str = "think",
        search: str = "search",
        answer: str = "answer",
        observation: str = "information",
        continue_turn: bool = True,
    ):
        """Set the names of the tags.

        :param think: The tag around the model's thoughts.
        :param search: The tag around a query.
        :param answer: The tag around the answer.
        :param observation: The tag around what a search found: ``information`` for Search-R1, ``result`` for ReSearch.
        :param continue_turn: Send the transcript as the beginning of the model's own turn, as in its training. This
            needs a server that supports ``continue_final_message`` (vLLM, SGLang, llama.cpp). False sends it in the
            user's message.
        :raises ValueError: When a tag is not a name, or two are the same.
        """
        self.think = think
        self.search = search
        self.answer = answer
        self.observation = observation
        self.continue_turn = continue_turn
        self.names = (think, search, answer, observation)
        wrong = next((name for name in self.names if not re.fullmatch(r"[A-Za-z][\w.-]*", str(name))), None)
        if wrong is not None:
            raise ValueError(f"'{wrong}' is not the name of a tag: give the word alone, as in `search: search`.")
        if len({name.lower() for name in self.names}) < len(self.names):
            raise ValueError("Two tags have the same name: think, search, answer and observation each need their own.")

    @property
    def keeps_thinking(self) -> bool:
        """Whether thinking blocks are this format's thoughts: only if both have the same tag."""
        return self.think.lower() in _THINKING

    def generation_kwargs(self, tools: Sequence[Tool], state: State, must_answer: bool) -> dict[str, Any]:
        """Choose the parameters of the call."""
        names = [self.search, *(tool.name for tool in tools if len(tools) > 1), self.answer]
        kwargs: dict[str, Any] = {"stop": [f"</{name}>" for name in names]}
        if self.continue_turn and (must_answer or any(step.reply or step.observed for step in state.steps)):
            kwargs["extra_body"] = {"continue_final_message": True, "add_generation_prompt": False}
        return kwargs

    def messages(
        self, prompt: str, turns: Sequence[Turn], tools: Sequence[Tool], must_answer: bool
    ) -> list[ChatMessage]:
        """Build the conversation: the question, then the whole transcript as one turn of the model."""
        parts = [self._turn(turn) for turn in turns]
        if must_answer:
            parts.append(f"{self._block(self.think, _LAST_THOUGHT)}\n<{self.answer}>")
        transcript = "\n\n".join(filter(None, parts))
        if not transcript:
            return [ChatMessage.from_user(prompt)]
        if not self.continue_turn:
            return [ChatMessage.from_user(f"{prompt}\n\n{transcript}")]
        return [ChatMessage.from_user(prompt), ChatMessage.from_assistant(transcript + ("" if must_answer else "\n\n"))]

    def read(self, text: str, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read the first step of a reply, whether or not the server removed the tag at which it stopped."""
        invented = next((tag for tag in self._find_tags(text) if _is(tag, self.observation)), None)
        if invented is not None:
            # A model that does not stop invents an observation and goes on.
            text = text[: invented.start()]
        unknown: re.Match[str] | None = None
        for tag in self._find_tags(text):
            if tag["slash"]:
                continue
            if _is(tag, self.answer):
                if _answer(_content(text, tag)[0]):
                    return self._read_answer(text, tag)
            elif must_answer:
                continue
            elif self._tool(tag, tools) is not None:
                return self._read_search(text, tag, tools)
            elif _content(text, tag)[1]:
                unknown = unknown or tag
        if must_answer:
            return self._read_forced_answer(text, tools)
        if unknown is not None:
            return self._read_search(text, unknown, tools)
        return Step(Action.UNREADABLE, reply=self._open_thought(text), thought=_words(text))

    def finished(self, text: str) -> str:
        """Keep the finished part of a reply that was cut off."""
        return text[: max((tag.end() for tag in _tags(text) if tag["slash"]), default=0)]

    def _turn(self, turn: Turn) -> str:
        step, observation = turn
        reply = step.reply
        if step.action is Action.SEARCH and not _TAG.search(reply) and (reply or observation is not None):
            # The search was not written in this format, or not by a model.
            thought = self._block(self.think, step.thought) + "\n" if step.thought else ""
            reply = thought + self._block(self.search, step.query)
        shown = self._block(self.observation, f"\n{observation}\n") if observation is not None else ""
        return "\n\n".join(filter(None, (reply.strip(), shown)))

    def _find_tags(self, text: str) -> Iterator[re.Match[str]]:
        """Find the tags outside of thoughts: a thought may mention tags too."""
        thoughts = [tag for tag in _tags(text) if _is(tag, self.think)]
        # The chat template may have put the opening tag into the prompt.
        thinking = bool(thoughts and thoughts[0]["slash"])
        for tag in _tags(text):
            if thoughts and tag.start() == thoughts[0].start():
                thinking = not thoughts.pop(0)["slash"]
            elif not (thinking and thoughts and thoughts[0]["slash"]):
                # A thought that is never closed ends where another tag begins.
                yield tag

    def _tool(self, tag: re.Match[str], tools: Sequence[Tool]) -> Tool | None:
        if _is(tag, self.search):
            # These models know only this tag; if there are several sources, the router chooses.
            return tools[0] if len(tools) == 1 else Tool(self.search, "")
        return find_tool(tag["name"], tools)

    def _read_search(self, text: str, tag: re.Match[str], tools: Sequence[Tool]) -> Step:
        tool, thought = self._tool(tag, tools), _words(text[: tag.start()])
        content, _ = _content(text, tag)
        query = plain_query(_TAG.sub(" ", shorten(content)))
        reply = self._open_thought(text[: tag.start()]) + self._block(tag["name"], shorten(content))
        if tool is None:
            return Step(Action.UNKNOWN_ACTION, reply=reply, thought=thought, tool=tag["name"], query=query)
        if not query:
            return Step(Action.UNREADABLE, reply=reply, thought=thought, tool=tool.name)
        return Step(Action.SEARCH, reply=reply, thought=thought, tool=tool.name, query=query, named_source=tool.source)

    def _read_answer(self, text: str, tag: re.Match[str]) -> Step:
        content, _ = _content(text, tag)
        reply = self._open_thought(text[: tag.start()]) + self._block(tag["name"], shorten(content))
        return Step(Action.ANSWER, reply=reply, thought=_words(text[: tag.start()]), answer=_answer(content))

    def _read_forced_answer(self, text: str, tools: Sequence[Tool]) -> Step:
        # The transcript ends with the answer's opening tag, so the reply may begin with the answer itself.
        thoughts = [tag for tag in _tags(text) if _is(tag, self.think)]
        behind = text[next((tag.end() for tag in reversed(thoughts) if tag["slash"]), 0) :]
        tag = _TAG.search(behind)
        answer = _answer(behind[: tag.start()] if tag else behind)
        # Text before a search, without the tag that closes an answer, is a thought.
        searches = tag is not None and not tag["slash"] and self._tool(tag, tools) is not None
        if not answer or searches or announces_search(answer):
            return Step(Action.UNREADABLE, reply=self._open_thought(text))
        return Step(Action.ANSWER, reply=self._block(self.answer, answer), answer=answer)

    def _open_thought(self, text: str) -> str:
        """Add the opening tag of a thought that has only the closing one."""
        first = next((tag for tag in _tags(text) if _is(tag, self.think)), None)
        return (f"<{self.think}>" if first is not None and first["slash"] else "") + shorten(text.lstrip())

    @staticmethod
    def _block(name: str, content: str) -> str:
        return f"<{name}>{content}</{name}>"


def _tags(text: str, start: int = 0) -> list[re.Match[str]]:
    return list(islice(_TAG.finditer(text, start), _MOST_TAGS))


def _is(tag: re.Match[str], name: str) -> bool:
    return tag["name"].lower() == name.lower()


def _content(text: str, opening: re.Match[str]) -> tuple[str, bool]:
    """Read the content of a tag; servers remove the closing tag at which they stop."""
    following = _tags(text, opening.end())
    closing = next((tag for tag in following if tag["slash"] and _is(tag, opening["name"])), None)
    if closing is not None:
        return text[opening.end() : closing.start()].strip(), True
    return text[opening.end() : following[0].start() if following else len(text)].strip(), False


def _words(text: str) -> str:
    """Put a text on one line, without tags."""
    return " ".join(_TAG.sub(" ", shorten(text.lstrip())).split())


def _answer(content: str) -> str:
    return one_answer(_TAG.sub(" ", content[:MAX_ANSWER_CHARACTERS]))
