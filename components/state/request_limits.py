"""The limits of a request, checked before anything copies or processes it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from haystack import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter

from prefrag.components.text.sentences import cut_text
from prefrag.components.text.unicode_form import is_text, normalize_unicode
from prefrag.errors import BadInput

MAX_QUESTION_CHARACTERS = 4_000
# The number of tokens depends on the bytes: 4,000 Chinese characters would fill a context window of 8,192 tokens.
MAX_QUESTION_BYTES = 4_500
MAX_INSTRUCTIONS_CHARACTERS = 4_000
MAX_TURNS = 20
MAX_HISTORY_CHARACTERS = 40_000
MAX_FILTER_DEPTH = 16
MAX_FILTER_VALUES = 1_000
MAX_FILTER_CHARACTERS = 1_000
# The integers that every store can hold.
_INTEGERS = range(-(2**63), 2**63)


def check_question(question: str) -> str:
    """Return the question in the form of the passages, without blanks at its ends.

    Raises BadInput if it is empty, too long or not text.
    """
    if not isinstance(question, str):
        raise BadInput(f"The question is not text but {type(question).__name__}: send text.")
    question = normalize_unicode(question.strip())
    if not question:
        raise BadInput("The question is empty: ask something.")
    if len(question) > MAX_QUESTION_CHARACTERS:
        raise BadInput(f"The question has {len(question)} characters: shorten it to {MAX_QUESTION_CHARACTERS}.")
    if not is_text(question):
        raise BadInput("The question holds half of a surrogate pair, which is not a character: send it as UTF-8.")
    size = len(question.encode())
    if size > MAX_QUESTION_BYTES:
        raise BadInput(
            f"The question has {size} bytes, more than a model's window holds besides the passages: shorten it to "
            f"{MAX_QUESTION_BYTES} bytes, which are {MAX_QUESTION_BYTES // 3} Chinese or Japanese characters."
        )
    return question


def check_instructions(instructions: str | None) -> str:
    """Return the instructions without blanks at their ends (empty for None); raise BadInput if they are not text."""
    text = instructions or ""
    if not isinstance(text, str) or not is_text(text):
        raise BadInput("The instructions are not text: send text.")
    return text.strip()


def keep_newest_turns(history: Iterable[Mapping[str, Any]] | None) -> list[dict[str, str]]:
    """Keep the newest turns of a conversation, oldest first: at most 20 turns, and at most 40,000 characters in all.

    Empty turns are left out, and the oldest turn may lose its end. Raises :class:`BadInput` if one of the newest
    20 turns is not ``{"role", "content"}``.
    """
    newest: list[dict[str, str]] = []
    room = MAX_HISTORY_CHARACTERS
    turns = history if isinstance(history, Sequence) else list(history or ())
    for turn in reversed(turns[-MAX_TURNS:]):
        role, content = _read_turn(turn)
        shown = cut_text(content, room)
        if shown:
            newest.insert(0, {"role": role, "content": shown})
        room -= len(content)
        if room <= 0:
            break
    return newest


def _read_turn(turn: Any) -> tuple[str, str]:
    """Return the role and the content of a turn, cut to what the whole history may have."""
    role, content = None, None
    if isinstance(turn, Mapping):
        role, content = turn.get("role"), turn.get("content") or ""
    if not isinstance(role, str) or not role or not isinstance(content, str):
        raise BadInput('Each turn of the history must be {"role": ..., "content": ...}, both as text.')
    text = normalize_unicode(content[:MAX_HISTORY_CHARACTERS])
    if not is_text(role) or not is_text(text):
        raise BadInput("The history holds half of a surrogate pair, which is not a character: send it as UTF-8.")
    return role, text


def check_filters(filters: Mapping[str, Any] | None) -> None:
    """Refuse an invalid filter. Otherwise one source would fail, and another would be searched without the filter."""
    if not filters:
        return
    _check_size(filters)
    waiting = [filters]
    try:
        while waiting:
            condition = waiting.pop()
            document_matches_filter(dict(condition), Document(content=""))
            # Haystack stops at the first condition that decides the result, so each condition is checked separately.
            waiting.extend(condition.get("conditions", ()))
    except (FilterError, TypeError, ValueError, AttributeError, KeyError) as error:
        raise BadInput(
            f"The filters cannot be understood: {str(error)[:MAX_FILTER_CHARACTERS]}. Write them as Haystack does, "
            'for example {"field": "meta.year", "operator": ">=", "value": 2000}.'
        ) from error


def _check_size(filters: object) -> None:
    """Raise BadInput if a filter exceeds a limit. Not recursive, because the filter may be nested very deeply."""
    waiting = [(filters, 1)]
    seen = 0
    while waiting:
        value, depth = waiting.pop()
        inner: Sequence[Any] = ()
        if isinstance(value, Mapping):
            inner = [*value.keys(), *value.values()]
            # A condition has three keys (field, operator and value), which do not count.
            seen += max(0, len(value) - 3)
        elif isinstance(value, list | tuple | set | frozenset):
            inner = list(value)
            seen += len(value)
        elif isinstance(value, str):
            if len(value) > MAX_FILTER_CHARACTERS:
                raise BadInput(f"A filter's text has {len(value)} characters: shorten it to {MAX_FILTER_CHARACTERS}.")
            if not is_text(value):
                raise BadInput("The filters hold half of a surrogate pair, not a character: send them as UTF-8.")
        elif isinstance(value, float) and not math.isfinite(value):
            raise BadInput(f"The filters hold {value}, which nothing can be compared with: use a finite number.")
        elif isinstance(value, int) and value not in _INTEGERS:
            raise BadInput("A number in the filters is too large: use a number of at most 64 bits.")
        # Each level of conditions is two levels of values: the condition, and the list of its conditions.
        if inner and depth > 2 * MAX_FILTER_DEPTH:
            raise BadInput(f"The filters are nested more than {MAX_FILTER_DEPTH} deep: write them flatter.")
        if seen > MAX_FILTER_VALUES:
            raise BadInput(f"The filters hold more than {MAX_FILTER_VALUES} values and conditions: use fewer.")
        waiting += [(part, depth + 1) for part in inner]
