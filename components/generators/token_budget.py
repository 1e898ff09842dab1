"""Fit a prompt into the context window of its model.

A model reads only a certain number of tokens, its context window. The tokens of a prompt are estimated from its
characters, because the tokeniser of the model is not known. If a prompt is too long, :func:`fit_to_window` leaves out
or shortens documents, the oldest first.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from haystack import Document

from prefrag.components.state.state import WHOLE_TEXT
from prefrag.components.text.sentences import cut_text

# For each step of a run, the documents that the step found. The oldest step comes first.
Observations = Sequence[Sequence[Document]]
# A prompt in any form, such as a text or a list of messages.
Prompt = TypeVar("Prompt")

# The number of tokens that a chat template puts around the messages, plus a reserve in case the estimate is too low.
# These tokens are counted neither with the prompt nor with the reply.
OVERHEAD_TOKENS = 48


# Matches text that many vocabularies split into almost as many tokens as characters. There are two alternatives:
# - a word with a digit, such as "5f3a" and "A4"
# - a sign, such as "-" in "a-b". A sign does not match if the same sign follows it, as in "--", or if it stands between
#   a word and a blank, as the comma in "ropes, nets".
_DENSE = re.compile(r"(?<!\w)[^\W\d]*+\d\w*+|([!-/:-@\[-^`{-~])(?!\1|(?<=[a-z].)\s)", re.ASCII | re.IGNORECASE)


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens of a text without the tokeniser of its model.

    The estimate tells whether a prompt fits into its window. In words with a digit and in signs, a character counts as
    1.13 tokens, because many vocabularies write each digit as a token. Everything else counts as in
    :func:`rough_tokens`. For example, ``estimate_tokens("2024-03-07")`` returns ``12``.

    The estimate was compared with the vocabulary of Qwen2.5. It is 1.5 times too high for English, and 1.07 times for
    tables of numbers. It is too low for Greek (0.7 times) and for Armenian (0.6 times).
    :meth:`ModelRecord.learn_tokens` corrects such errors with the counts of the server.

    :param text: The text.
    :returns: The estimated number of tokens, at least 1.
    """
    dense = len(text) - len(_DENSE.sub("", text))
    return rough_tokens(text) + dense * 4 // 5


def rough_tokens(text: str) -> int:
    """Count three UTF-8 bytes as a token. A token of English has over four bytes, and one of Chinese about three.

    This measures texts in the same way for each model. For texts with many numbers the count is too low, so it does not
    tell whether they fit into a window. For example, ``rough_tokens("abc")`` returns ``2``.

    :param text: The text.
    :returns: The number of tokens, at least 1.
    """
    return len(text.encode("utf-8", "surrogatepass")) // 3 + 1


@dataclass(frozen=True)
class FittedPrompt(Generic[Prompt]):
    """A prompt that fits into the window, and what was cut to make it fit.

    :param prompt: The prompt.
    :param documents_cut: The number of documents that were left out.
    :param documents_shortened: The number of documents of the newest observation that were shortened.
    """

    prompt: Prompt
    documents_cut: int = 0
    documents_shortened: int = 0


def fit_to_window(
    render: Callable[[Observations], Prompt],
    observations: Observations,
    *,
    room: int,
    tokens: Callable[[Any], int] = estimate_tokens,
) -> FittedPrompt[Prompt]:
    """Render a prompt with as many documents as fit into a number of tokens.

    An observation is the list of documents that one step of the run has found. Documents are cut in this order until
    the prompt fits:

    1. The oldest observation loses documents, beginning with its last document. Then the next observation does.
    2. The documents of the newest observation are shortened. The longest documents are shortened first.
    3. The documents of the newest observation are left out, beginning with the last one.

    :param render: Builds the prompt from the observations.
    :param observations: The documents that each step has found, oldest step first. They are not changed.
    :param room: The maximum number of tokens of the prompt.
    :param tokens: Counts the tokens of a prompt that ``render`` has built.
    :returns: The prompt, and what was cut.
    :raises ValueError: When the prompt does not fit even without documents.
    """
    shown = [list(observation) for observation in observations]
    # The index of the newest observation. Steps without documents (an answer, an unreadable reply) do not count.
    newest_index = max((index for index, observation in enumerate(shown) if observation), default=0)
    prompt = render(shown)
    n_left_out = 0

    # First step: leave out documents of the older observations.
    for observation in shown[:newest_index]:
        while observation and tokens(prompt) > room:
            observation.pop()
            n_left_out += 1
            prompt = render(shown)
    if tokens(prompt) <= room:
        return FittedPrompt(prompt, n_left_out)

    # Second step: shorten the documents of the newest observation. All of them get the same maximum length, which
    # becomes smaller by a quarter until the prompt fits.
    newest = shown[newest_index] if shown else []
    most_characters = max((len(document.content or "") for document in newest), default=0)
    while most_characters > 0:
        most_characters = most_characters * 3 // 4
        shortened = [_shorten(document, most_characters) for document in newest]
        # The steps after the newest observation have no documents.
        later = shown[newest_index + 1 :]
        prompt = render([*shown[:newest_index], shortened, *later])
        if tokens(prompt) <= room:
            # A document that was short enough is still the same object.
            n_shortened = sum(new is not old for new, old in zip(shortened, newest, strict=True))
            return FittedPrompt(prompt, n_left_out, n_shortened)

    # Third step: leave out documents of the newest observation.
    while newest:
        newest.pop()
        n_left_out += 1
        prompt = render(shown)
        if tokens(prompt) <= room:
            return FittedPrompt(prompt, n_left_out)
    raise ValueError(
        f"The prompt needs about {tokens(prompt)} tokens even without documents, but the model's window leaves only "
        f"{room}: ask a shorter question, or set a larger window (PREFRAG_LLM_CONTEXT, or `context_window` in the "
        "YAML). If the prompt repeats many long replies of the model, set a smaller max_tokens or max_steps."
    )


def _shorten(document: Document, characters: int) -> Document:
    """Shorten the content of a document to at most ``characters``. A shorter document is returned as it is."""
    content = document.content or ""
    if len(content) <= characters:
        return document
    # Prompts identify documents by their whole text. So `meta` contains the whole text, even if a document is shortened
    # twice.
    meta = {WHOLE_TEXT: content, **document.meta}
    return replace(document, content=cut_text(content, characters, " ..."), meta=meta)
