"""Ask a small model whether a sentence states the answer that the model has proposed.

A small model says Yes to most of its own answers, so the word itself counts for nothing. But the probability of the
word is higher where the sentence states the answer than where it only has the answer's words. It also is where the
sentence says in other words what is asked. So this probability is one of the signs from which code estimates whether
the answer is right.

The prompt has one sentence and the title of its passage. It is a tenth as long as a prompt with all passages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from haystack import Document

from prefrag.components.generators.model_call import ModelCall, limit_reply
from prefrag.components.generators.token_probabilities import first_words
from prefrag.components.prompts.render_prompt import render_prompt
from prefrag.components.state.passages import passages
from prefrag.components.state.state import Evidence, State
from prefrag.components.text.one_line import one_line

PROMPT = "answer_confirmation"
# The reply has one token. Its probability and those of the tokens in its place are all that counts.
REPLY_TOKENS = 1
PARAMETERS: dict[str, Any] = {"logprobs": True, "top_logprobs": 5, "max_tokens": REPLY_TOKENS}
# If the words Yes and No together are less probable, from 0 to 1, the model did not understand the question.
_LEAST_UNDERSTOOD = 0.5


def can_confirm(call: ModelCall) -> bool:
    """Check whether the server of a model may send the probabilities of Yes and No.

    :param call: The call of the model.
    :returns: False if the server has refused to.
    """
    return not {"logprobs", "top_logprobs"} & call.record.refused


async def ask_to_confirm(call: ModelCall, state: State, answer: str, evidence: Evidence) -> tuple[State, float | None]:
    """Ask the model whether a sentence states an answer.

    :param call: The call of the model.
    :param state: The state of the run. The call is counted in it.
    :param answer: The answer, without citations.
    :param evidence: The sentence that carries the answer.
    :returns: The state with an event, and the probability of Yes among Yes and No, from 0 to 1. None if the server
        sends no probabilities, or if the model wants to write something else.
    :raises RunError: When the model fails.
    """
    prepared = call.prepare(
        state,
        PROMPT,
        [[_passage_of(evidence)]],
        lambda observations: _list_values(state.question, answer, observations[0]),
        **PARAMETERS,
    )
    # A setting of the user may allow longer replies, because a model may think first. Here nobody would read them.
    short = replace(prepared, generation_kwargs=limit_reply(prepared.generation_kwargs, REPLY_TOKENS))
    message, asked = await call.send_for_message_async(short)

    confirmed = read_confirmation(first_words(message.meta))
    return asked.with_event("confirmed", text=answer, sentence=evidence.sentence, probability=confirmed), confirmed


def write_prompt(question: str, answer: str, evidence: Evidence) -> str:
    """Write the prompt.

    :param question: The question.
    :param answer: The answer, without citations.
    :param evidence: The sentence that carries the answer.
    :returns: The prompt.
    """
    return render_prompt(PROMPT, **_list_values(question, answer, [_passage_of(evidence)]))


def _passage_of(evidence: Evidence) -> Document:
    """Make a passage of a single sentence, with the title of the passage in which it stands."""
    return Document(content=evidence.sentence, meta={"title": evidence.document.meta.get("title")})


def _list_values(question: str, answer: str, documents: Sequence[Document]) -> dict[str, object]:
    """Return the values that are put into the prompt file.

    The answer may repeat words of a passage. So it has no line of its own in the prompt, and cannot end its quotation.
    """
    quoted_answer = one_line(answer).replace('"', "'")
    return {"passages": passages(documents), "question": question, "answer": quoted_answer}


def read_confirmation(words: Mapping[str, float]) -> float | None:
    """Read how likely the model finds it that a sentence states its answer.

    :param words: The words with which the reply may begin, each with its probability, see :func:`first_words`.
    :returns: The probability of Yes among Yes and No, from 0 to 1. None if both together are improbable.
    """
    likely_yes = words.get("yes", 0.0)
    understood = likely_yes + words.get("no", 0.0)
    if understood < _LEAST_UNDERSTOOD:
        return None
    return likely_yes / understood
