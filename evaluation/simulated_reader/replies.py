"""Write the replies of the simulated reader in the format that each prompt expects.

The texts are always the same. Only the queries, the answers and the judgements differ.
"""

import json
import re

from haystack.dataclasses import ChatMessage, ToolCall

from prefrag.components.state.state import Label
from prefrag.evaluation.simulated_reader.prompts import Call

# The thought before a search.
SEARCHING = "I still have to find what is missing"
# The thought before an answer.
ANSWERING = "The passages say all that can be said"
# Matches the marks at the end of a sentence, also Chinese and Japanese ones: "?!" in "What?!".
_SENTENCE_END = re.compile(r"[.!?\u3002\uff01\uff1f]+")
# The explanation of each label.
_REASONS = {
    Label.CORRECT: "The passages hold all that the answer needs.",
    Label.INCORRECT: "The passages do not bear the answer out.",
}


def search(call: Call, tool: str, query: str) -> ChatMessage:
    """Write the reply that requests a search.

    :param call: The call, which says what format the reply has.
    :param tool: The name of the action.
    :param query: The query.
    :returns: The reply.
    """
    match call.form:
        case "json":
            return _say(json.dumps({"thought": SEARCHING, "action": tool, "query": query}, ensure_ascii=False))
        case "tools":
            call_id = f"search{len(call.searches) + 1:03d}"
            return ChatMessage.from_assistant(SEARCHING, tool_calls=[ToolCall(tool, {"query": query}, id=call_id)])
        case "cot":
            # The reply must be one sentence. So marks inside the query are removed, such as the full stop of a title.
            return _say(_SENTENCE_END.sub(" ", query).strip() + ".")
    return _say(f"Thought: {SEARCHING}\nAction: {tool}\nAction Input: {query}")


def answer(call: Call, text: str, label: Label) -> ChatMessage:
    """Write the reply with the answer.

    If the step may not search, the reply contains only the answer and no thought.

    :param call: The call, which says what format the reply has.
    :param text: The answer.
    :param label: The label of the answer, for calls that ask for one.
    :returns: The reply.
    """
    forced = not call.may_search
    trailer = f"\nSelf-Evaluation: {label.value}\nExplanation: {_REASONS[label]}" if call.evaluates else ""
    match call.form:
        case "json":
            thought = "" if forced else ANSWERING
            values = {"thought": thought, "action": "Final_Answer", "answer": text}
            if call.evaluates:
                values |= {"label": label.value, "explanation": _REASONS[label], "suggestions": ""}
            return _say(json.dumps(values, ensure_ascii=False))
        case "cot":
            return _say(f"So the answer is: {text}.")
        case "tools" if forced:
            return _say(f"Final Answer: {text}{trailer}")
    if forced:
        return _say(f"{text}{trailer}")
    return _say(f"Thought: {ANSWERING}\nFinal Answer: {text}{trailer}")


def verdict(status: bool) -> ChatMessage:
    """Write the judge's reply.

    :param status: Whether the new passages help.
    :returns: The reply.
    """
    analysis = "The new passages say something that was missing." if status else "The new passages say nothing new."
    return write_object(analysis=analysis, status=str(status))


def reflection(label: Label) -> ChatMessage:
    """Write the reply to a separate reflection on the answer.

    :param label: The label of the answer.
    :returns: The reply.
    """
    return write_object(explanation=_REASONS[label], label=label.value, suggestions="")


def review(label: Label) -> ChatMessage:
    """Write the reply to MSPR's review of an answer.

    :param label: The label of the answer.
    :returns: The reply.
    """
    reason = _REASONS[label]
    is_correct = str(label is Label.CORRECT)
    return write_object(effectiveness=reason, completeness=reason, correctness=reason, label=is_correct)


def critique(text: str, worth: int) -> ChatMessage:
    """Write an answer from one passage, with a judgement of the passage.

    :param text: The answer.
    :param worth: The worth of the passage: 0 (irrelevant), 1 (relevant) or 2 (enough).
    :returns: The reply.
    """
    # The support and the usefulness of a passage of each worth.
    support, usefulness = [("none", 1), ("partially", 3), ("fully", 5)][worth]
    relevance = "relevant" if worth else "irrelevant"
    return write_object(relevance=relevance, answer=text, support=support, usefulness=usefulness)


def write_object(**values: object) -> ChatMessage:
    """Write a reply that is a JSON object.

    :param values: The keys and values of the object.
    :returns: The reply.
    """
    return _say(json.dumps(values, ensure_ascii=False))


def _say(text: str) -> ChatMessage:
    """Make a reply of the model from a text."""
    return ChatMessage.from_assistant(text)
