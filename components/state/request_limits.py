"""Check the limits of a request, such as the length of the question.

The checks run before anything copies or processes the request, because a request may be very large.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from haystack import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter

from prefrag.components.state.filters import Filters
from prefrag.components.text.sentences import cut_text
from prefrag.components.text.unicode_form import is_text, normalize_unicode
from prefrag.errors import BadInput

# A question may have at most this many characters. A longer question is refused.
MAX_QUESTION_CHARACTERS = 4_000
# A question may have at most this many bytes in UTF-8. The number of tokens depends on the bytes: 4,000 Chinese
# characters would fill a context window of 8,192 tokens.
MAX_QUESTION_BYTES = 4_500
# Only this many characters of the instructions are used. Longer instructions are cut.
MAX_INSTRUCTIONS_CHARACTERS = 4_000
# Only this many turns of the conversation are kept, the newest.
MAX_TURNS = 20
# All turns that are kept have at most this many characters together.
MAX_HISTORY_CHARACTERS = 40_000
# Conditions of a filter may be nested this many levels deep. A deeper filter is refused.
MAX_FILTER_DEPTH = 16
# A filter may have at most this many values and conditions together.
MAX_FILTER_VALUES = 1_000
# A single text in a filter may have at most this many characters. Error messages about filters are cut to this length.
MAX_FILTER_CHARACTERS = 1_000
# The integers that every document store can hold: those of 64 bits.
_INTEGERS = range(-(2**63), 2**63)


def check_question(question: str) -> str:
    """Check a question, and return it in the Unicode form in which passages are stored.

    :param question: The question, as the user wrote it.
    :returns: The question in that form, without blanks at its ends.
    :raises BadInput: If the question is empty, too long or not text.
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
    """Check the instructions of an operator. They are not cut here.

    :param instructions: The instructions, or None.
    :returns: The instructions without blanks at their ends. Empty for None.
    :raises BadInput: If the instructions are not text.
    """
    text = instructions or ""
    if not isinstance(text, str) or not is_text(text):
        raise BadInput("The instructions are not text: send text.")
    return text.strip()


def keep_newest_turns(history: Iterable[Mapping[str, object]] | None) -> list[dict[str, str]]:
    """Keep the newest turns of a conversation: at most 20 turns, and at most 40,000 characters together.

    :param history: The turns, oldest first, each with a ``role`` and a ``content``. None means that there are none.
    :returns: The newest turns, oldest first. Empty turns are left out. The oldest turn that is kept may lose its end.
    :raises BadInput: If one of the newest 20 turns does not have a role and a content that are texts.
    """
    newest: list[dict[str, str]] = []
    # The number of characters that further turns may have.
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


def _read_turn(turn: object) -> tuple[str, str]:
    """Return the role and the content of a turn. The content is cut to the length that the whole history may have."""
    fields = turn if isinstance(turn, Mapping) else {}
    role = fields.get("role")
    content = fields.get("content") or ""
    if not isinstance(role, str) or not role or not isinstance(content, str):
        raise BadInput('Each turn of the history must be {"role": ..., "content": ...}, both as text.')
    text = normalize_unicode(content[:MAX_HISTORY_CHARACTERS])
    if not is_text(role) or not is_text(text):
        raise BadInput("The history holds half of a surrogate pair, which is not a character: send it as UTF-8.")
    return role, text


def check_filters(filters: Filters | None) -> None:
    """Refuse an invalid filter. Otherwise one source would fail, and another would be searched without the filter.

    :param filters: A Haystack metadata filter. None means that there is no filter.
    :raises BadInput: If Haystack cannot apply the filter, or if the filter exceeds a limit.
    """
    if not filters:
        return

    _check_size(filters)
    # The conditions that still have to be checked.
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
    """Raise BadInput if a filter exceeds a limit.

    The function is not recursive, because a filter may be nested more deeply than Python's stack allows.
    """
    # The values that still have to be checked, each with its depth.
    waiting = [(filters, 1)]
    number_of_values = 0
    while waiting:
        value, depth = waiting.pop()
        inner_values: Sequence[object] = ()
        if isinstance(value, Mapping):
            inner_values = [*value.keys(), *value.values()]
            # A condition has three keys (field, operator and value), which do not count.
            number_of_values += max(0, len(value) - 3)
        elif isinstance(value, list | tuple | set | frozenset):
            inner_values = list(value)
            number_of_values += len(value)
        else:
            _check_single_value(value)
        # Each level of conditions is two levels of values: the condition, and the list of its conditions.
        if inner_values and depth > 2 * MAX_FILTER_DEPTH:
            raise BadInput(f"The filters are nested more than {MAX_FILTER_DEPTH} deep: write them flatter.")
        if number_of_values > MAX_FILTER_VALUES:
            raise BadInput(f"The filters hold more than {MAX_FILTER_VALUES} values and conditions: use fewer.")
        waiting += [(inner_value, depth + 1) for inner_value in inner_values]


def _check_single_value(value: object) -> None:
    """Raise BadInput if a text or a number of a filter exceeds a limit."""
    if isinstance(value, str):
        if len(value) > MAX_FILTER_CHARACTERS:
            raise BadInput(f"A filter's text has {len(value)} characters: shorten it to {MAX_FILTER_CHARACTERS}.")
        if not is_text(value):
            raise BadInput("The filters hold half of a surrogate pair, not a character: send them as UTF-8.")
    elif isinstance(value, float) and not math.isfinite(value):
        raise BadInput(f"The filters hold {value}, which nothing can be compared with: use a finite number.")
    elif isinstance(value, int) and value not in _INTEGERS:
        raise BadInput("A number in the filters is too large: use a number of at most 64 bits.")
