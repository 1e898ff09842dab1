"""Read a call to the model, so that the simulated reader knows what to reply.

:func:`read_call` finds out three things from the messages and parameters of a call: the kind of reply that is expected,
    the question, and the passages.
"""

import json
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from haystack.dataclasses import ChatMessage
from haystack.tools import Tool

from prefrag.evaluation.simulated_reader.gold import one_line

# The kinds of replies that a call may expect, see `Call.kind`.
Kind = Literal[
    "step", "verdict", "reflection", "review", "question", "summary", "retrieval", "critique", "relevance", "keywords"
]
# The formats of a step: plain text, a JSON object, a call of a tool, or the next sentence of a chain of thought.
Form = Literal["text", "json", "tools", "cot"]

# Matches the line that has the question, such as "Question: Who directed Jaws?" or "Original question: Who directed
# Jaws?".
_QUESTION = re.compile(r"^(?:Question|Original question|Last question): (?P<question>.+)$", re.MULTILINE)
# Matches the limit of searches in a prompt, such as "at most 5 times".
_MOST_SEARCHES = re.compile(r"at most (\d+) times")
# Matches the actions in the prompt's instructions. Group 1 is "local or web" in 'a line "Action:" with local or web,'
# and in "Action: the tool to use, written exactly as local or web".
_TEXT_TOOLS = re.compile(r'(?:^Action: .* exactly as |a line "Action:" with )([^,\n]+)', re.MULTILINE)
# Matches a search in the transcript: "Action: local", and in the next line "Action Input: director of Jaws".
_TEXT_SEARCH = re.compile(r"^Action: (.+)\nAction Input: (.+)$", re.MULTILINE)
# Matches the label before the latest results, such as "Observation:". It occurs in the judge's prompt and in the
# reasoner's transcript.
_RESULTS_LABEL = re.compile(r"^(?:New information|Observation|Passages):", re.MULTILINE)
# The label before the answer, in prompts that ask for a check of the answer.
_ANSWER = "\nAnswer: "
# The label before the sentences of a chain of thought.
_SENTENCES = "\nSentences so far:\n"
# The label before the next sentence.
_NEXT_SENTENCE = "Next sentence:"


@dataclass(frozen=True)
class Call:
    """One call to the model."""

    # The reply that is expected:
    # - `step`: the reasoner searches or answers
    # - `verdict`: the judge says whether the new passages help
    # - `reflection` and `review`: a check of an answer
    # - `question`: a question that is rewritten so that it can be understood alone
    # - `summary`: a summary of passages
    # - `retrieval`: the decision whether retrieval is needed
    # - `critique`: an answer, with a judgement of the passage that it is from
    # - `relevance`: a score of each passage
    # - `keywords`: the keywords of the question
    kind: Kind
    # The question on one line.
    question: str
    # The text of the prompt. In a call for a verdict, the passages to judge are left out.
    text: str
    # The text behind the question.
    transcript: str = ""
    # In a call for a verdict, the passages to judge.
    new: str = ""
    # The answer to reflect on or to review.
    answer: str = ""
    # The format of a step.
    form: Form = "text"
    # The names of the actions that search.
    tools: tuple[str, ...] = ()
    # The searches so far, each as (action, query).
    searches: tuple[tuple[str, str], ...] = ()
    # The number of searches that the prompt allows. None if the prompt sets no limit.
    most: int | None = None
    # Whether a step may search.
    may_search: bool = False
    # Whether a step may answer.
    may_answer: bool = True
    # The only queries that a step may use. Empty if the prompt does not list them.
    choices: tuple[str, ...] = ()
    # Whether the answer must come with a label of its correctness.
    evaluates: bool = False


def read_call(
    messages: Sequence[ChatMessage],
    generation_kwargs: Mapping[str, Any] | None,
    tools: Sequence[Tool] | None,
    questions: Container[str],
) -> Call:
    """Read the expected reply from the parameters of a call, and the question and the passages from its messages.

    :param messages: The messages of the call.
    :param generation_kwargs: The parameters of the call, such as the JSON schema of the reply.
    :param tools: The tools that the model may call.
    :param questions: The texts of all questions that the reader knows, each on one line.
    :returns: The call.
    :raises ValueError: If the prompt has none of the questions, or an unknown task.
    """
    kwargs = generation_kwargs or {}
    text = "\n\n".join(_read_content(message) for message in messages)
    question_match = _find_question(text, questions)
    question = one_line(question_match["question"])
    instructions = text[: question_match.start()]
    transcript = text[question_match.end() :]

    response_format = kwargs.get("response_format") or {}
    schema = response_format.get("json_schema") or {}
    stop = kwargs.get("stop") or []
    limit = _MOST_SEARCHES.search(instructions)
    most = int(limit[1]) if limit else None
    step = partial(Call, "step", question, text, transcript, most=most)
    # The name of the JSON schema of the reply says what is expected.
    match schema.get("name"):
        case "verdict":
            results_at = _find_last_results(messages, text)
            return Call("verdict", question, text[:results_at], new=text[results_at:])
        case "reflection" | "review" as kind if _ANSWER in transcript:
            _, _, answer = transcript.rpartition(_ANSWER)
            return Call(kind, question, text, answer=answer)
        case "question" | "retrieval" | "critique" | "relevance" | "keywords" as kind:
            return Call(kind, question, text)
        case "step":
            return _json_step(step, transcript, schema["schema"])
    # A step without a JSON schema: the model calls tools, writes an action as text, or writes the next sentence.
    evaluates = "Self-Evaluation:" in instructions
    if tools:
        may_search = kwargs.get("tool_choice") != "none"
        names = tuple(tool.name for tool in tools)
        searches = _tool_searches(messages)
        return step(form="tools", tools=names, searches=searches, may_search=may_search, evaluates=evaluates)
    if "\nObservation:" in stop:
        may_search = not text.rstrip().endswith("Final Answer:")
        text_searches = tuple(_TEXT_SEARCH.findall(transcript))
        return step(tools=_text_tools(instructions), searches=text_searches, may_search=may_search, evaluates=evaluates)
    if text.endswith(_NEXT_SENTENCE):
        return step(form="cot", tools=("",), searches=_chain_searches(question, transcript), may_search=True)

    if not schema and "Passages:\n" in transcript:
        return Call("summary", question, text, transcript)

    raise ValueError(f"The simulated reader does not know the task of this prompt. The prompt begins: {text[:200]!r}")


def _find_question(text: str, questions: Container[str]) -> re.Match[str]:
    """Find the first line of a prompt that has a known question. Raise ValueError if there is none."""
    for match in _QUESTION.finditer(text):
        if one_line(match["question"]) in questions:
            return match
    raise ValueError(
        "The simulated reader does not know the question of this prompt: it answers only questions from its "
        f"`questions` files, in the same words. The prompt ends: {text[-200:]!r}"
    )


def _tool_searches(messages: Sequence[ChatMessage]) -> tuple[tuple[str, str], ...]:
    """List the searches among the tool calls of a conversation, each as (action, query)."""
    searches = []
    for message in messages:
        for call in message.tool_calls:
            searches.append((call.tool_name, str(call.arguments.get("query", ""))))
    return tuple(searches)


def _text_tools(instructions: str) -> tuple[str, ...]:
    """List the actions that the instructions of a prompt name."""
    tools = _TEXT_TOOLS.search(instructions)
    return tuple(tools[1].split(" or ")) if tools else ()


def _chain_searches(question: str, transcript: str) -> tuple[tuple[str, str], ...]:
    """List the searches of a chain of thought: first for the question, then for each sentence that it has written."""
    _, _, chain = transcript.rpartition(_SENTENCES)
    sentences = chain.removesuffix(_NEXT_SENTENCE).strip().split("\n")
    queries = [question, *filter(None, sentences)]
    return tuple(("", query) for query in queries)


def _find_last_results(messages: Sequence[ChatMessage], text: str) -> int:
    """Return the position in the prompt at which the latest results begin."""
    results = [str(result.result) for message in messages for result in message.tool_call_results]
    if results:
        return text.rfind(results[-1])
    labels = list(_RESULTS_LABEL.finditer(text))
    return labels[-1].start()


def _json_step(step: Callable[..., Call], transcript: str, schema: Mapping[str, Any]) -> Call:
    """Read a step that expects a JSON object. Its schema says whether a search, an answer or both are possible."""
    # The fields of a search, and those of an answer. Each is empty if the schema does not allow it.
    fields_of_forms = [form["properties"] for form in schema.get("anyOf", [schema])]
    search: Mapping[str, Any] = next((fields for fields in fields_of_forms if "query" in fields), {})
    answer: Mapping[str, Any] = next((fields for fields in fields_of_forms if "answer" in fields), {})
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
    """List the searches of a transcript of JSON objects, each as (action, query)."""
    searches = []
    for line in transcript.split("\n"):
        if line.startswith("{"):
            try:
                reply = json.loads(line)
            except ValueError:
                # A line that is not JSON is part of a passage.
                continue
            if reply.get("query"):
                searches.append((str(reply.get("action", "")), str(reply["query"])))
    return searches


def _read_content(message: ChatMessage) -> str:
    """Return the text of a message without its tool calls, which are read separately."""
    results = [str(result.result) for result in message.tool_call_results]
    return "\n".join([*message.texts, *results])
