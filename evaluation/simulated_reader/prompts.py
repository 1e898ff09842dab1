"""Read from the prompt of a model call the kind of reply that it expects, its question and its passages."""

import json
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from haystack.dataclasses import ChatMessage
from haystack.tools import Tool

from prefrag.evaluation.simulated_reader.gold import one_line

Kind = Literal[
    "step", "verdict", "reflection", "review", "question", "summary", "retrieval", "critique", "relevance", "keywords"
]
Form = Literal["text", "json", "tools", "cot"]

# The line that states the question, such as "Question: Who directed Jaws?".
_QUESTION = re.compile(r"^(?:Question|Original question|Last question): (?P<question>.+)$", re.MULTILINE)
_MOST = re.compile(r"at most (\d+) times")
# The actions in the prompt's instructions, such as "Action: local or web" or "Action: ... exactly as local".
_TEXT_TOOLS = re.compile(r"^Action: (?:.* exactly as )?(.+)$", re.MULTILINE)
# A search in the transcript: "Action: local", and below "Action Input: director of Jaws".
_TEXT_SEARCH = re.compile(r"^Action: (.+)\nAction Input: (.+)$", re.MULTILINE)
# The words before the latest results in the judge's prompt and in the reasoner's transcript.
_FOUND = re.compile(r"^(?:New information|Observation|Passages):", re.MULTILINE)
_ANSWER = "\nAnswer: "
_SENTENCES = "\nSentences so far:\n"
_NEXT_SENTENCE = "Next sentence:"


@dataclass(frozen=True)
class Call:
    """One call to the model."""

    # The expected reply: a `step` of the reasoner, the judge's `verdict`, a `reflection` on an answer, a `review` of an
    # answer, a `summary` of passages, a `question` that is rewritten to stand alone, a decision whether `retrieval` is
    # needed, an answer with a `critique` of its passage, the `relevance` of each passage, or the question's `keywords`.
    kind: Kind
    question: str
    text: str  # the text of the prompt; in a call for a verdict, without the passages to judge
    transcript: str = ""  # the text after the question
    new: str = ""  # in a call for a verdict, the passages to judge
    answer: str = ""  # the answer to reflect on or to review
    form: Form = "text"  # the format of a step
    tools: tuple[str, ...] = ()  # the names of the actions that search
    searches: tuple[tuple[str, str], ...] = ()  # the searches so far, as (action, query)
    most: int | None = None  # the number of searches that the prompt allows; None if it sets no limit
    may_search: bool = False  # whether a step may search
    may_answer: bool = True  # whether a step may answer
    choices: tuple[str, ...] = ()  # the only queries that a step may use, if the prompt lists them
    evaluates: bool = False  # whether the answer must come with a label of its correctness


def read_call(
    messages: Sequence[ChatMessage],
    generation_kwargs: Mapping[str, Any] | None,
    tools: Sequence[Tool] | None,
    questions: Container[str],
) -> Call:
    """Read the expected reply from a call's parameters, and the question and the passages from its messages."""
    kwargs = generation_kwargs or {}
    text = "\n\n".join(_read_content(message) for message in messages)
    matches = [match for match in _QUESTION.finditer(text) if one_line(match["question"]) in questions]
    if not matches:
        raise ValueError(
            "The simulated reader does not know the question of this prompt: it answers only questions from its "
            f"`questions` files, in the same words. The prompt ends: {text[-200:]!r}"
        )
    stated = matches[0]
    question = one_line(stated["question"])
    head = text[: stated.start()]
    transcript = text[stated.end() :]
    response_format = kwargs.get("response_format") or {}
    schema = response_format.get("json_schema") or {}
    stop = kwargs.get("stop") or []
    most = _MOST.search(head)
    step = partial(Call, "step", question, text, transcript, most=int(most[1]) if most else None)
    match schema.get("name"):
        case "verdict":
            place = _find_last_results(messages, text)
            return Call("verdict", question, text[:place], new=text[place:])
        case "reflection" | "review" as kind if _ANSWER in transcript:
            return Call(kind, question, text, answer=transcript.rpartition(_ANSWER)[2])
        case "question" | "retrieval" | "critique" | "relevance" | "keywords" as kind:
            return Call(kind, question, text)
        case "step":
            return _json_step(step, transcript, schema["schema"])
    if tools:
        calls = [call for message in messages for call in message.tool_calls]
        searches_by_tools = [(call.tool_name, str(call.arguments.get("query", ""))) for call in calls]
        return step(
            form="tools",
            tools=tuple(tool.name for tool in tools),
            searches=tuple(searches_by_tools),
            may_search=kwargs.get("tool_choice") != "none",
            evaluates="Self-Evaluation:" in head,
        )
    if "\nObservation:" in stop:
        instruction = _TEXT_TOOLS.search(head)
        named = instruction[1].split(" or ") if instruction else []
        return step(
            tools=tuple(named),
            searches=tuple(_TEXT_SEARCH.findall(transcript)),
            may_search=not text.rstrip().endswith("Final Answer:"),
            evaluates="Self-Evaluation:" in head,
        )
    if text.endswith(_NEXT_SENTENCE):
        sentences = transcript.rpartition(_SENTENCES)[2].removesuffix(_NEXT_SENTENCE).strip().split("\n")
        # A chain of thought first searches for the question, and then for each sentence that it has written.
        searches = tuple(("", sentence) for sentence in (question, *filter(None, sentences)))
        return step(form="cot", tools=("",), searches=searches, may_search=True)
    if not schema and "Passages:\n" in transcript:
        return Call("summary", question, text, transcript)
    raise ValueError(f"The simulated reader does not know the task of this prompt. The prompt begins: {text[:200]!r}")


def _find_last_results(messages: Sequence[ChatMessage], text: str) -> int:
    results = [str(result.result) for message in messages for result in message.tool_call_results]
    if results:
        return text.rfind(results[-1])
    return [match.start() for match in _FOUND.finditer(text)][-1]


def _json_step(step: Callable[..., Call], transcript: str, schema: Mapping[str, Any]) -> Call:
    ways = [way["properties"] for way in schema.get("anyOf", [schema])]
    search: Mapping[str, Any] = next((way for way in ways if "query" in way), {})
    answer: Mapping[str, Any] = next((way for way in ways if "answer" in way), {})
    actions: Sequence[str] = search["action"]["enum"] if search else ()
    choices: Sequence[str] = search["query"].get("enum", ()) if search else ()
    return step(
        form="json",
        tools=tuple(actions),
        searches=tuple(_json_searches(transcript)),
        may_search=bool(search),
        may_answer=bool(answer),
        choices=tuple(choices),
        evaluates="label" in answer,
    )


def _json_searches(transcript: str) -> list[tuple[str, str]]:
    searches = []
    for line in transcript.split("\n"):
        if line.startswith("{"):
            try:
                reply = json.loads(line)
            except ValueError:
                # This line is part of a passage.
                continue
            if reply.get("query"):
                searches.append((str(reply.get("action", "")), str(reply["query"])))
    return searches


def _read_content(message: ChatMessage) -> str:
    """Return the text of a message without its tool calls, which are read separately."""
    return "\n".join([*message.texts, *(str(result.result) for result in message.tool_call_results)])
