"""Find out whether a sentence offers the answer only as one of two, as "Ann Low or Bo Lind" does."""

import re

from prefrag.components.reader.doubts.statement import Statement
from prefrag.components.text.number_words import ONES, TEENS

# A question for a person, an amount or a time, without a choice. It matches "Who leads?" and "What is the fee?". It
# does not match "What is the river called?", which two names may answer.
_ASKS_VALUE = re.compile(
    r"^(?!.*\bor\b)\W*(?:who|when|how (?:many|much|old|long|far|high|big|deep|heavy)"
    r"|(?:what|which) (?:is|are) (?:the )?(?:[a-z]+ ){0,2}"
    r"(?:price|cost|fee|rent|number|code|date|day|time|age|rate|size))\b",
    re.IGNORECASE,
)
# A number in figures or a short word, or a name. It matches "Ann Low", "1,500" and "three".
_VALUE = rf"(?:[A-Z][\w.]*|\d[\d.,]*|{'|'.join((*ONES[1:], TEENS[0]))})"
# Two names or two numbers with "or" between them, in the answer itself. It matches "Ann Low or Bo Lind" and "7 or 8".
# It does not match "a cat or dog" and "Huang He, or Yellow River".
_BOTH = re.compile(rf"\b{_VALUE} or (?:the )?{_VALUE}")
# The same before the answer, and behind it. They match "Ann Low or " and " or 8".
_OR_BEFORE = re.compile(rf"\b{_VALUE} or (?:the )?$")
_OR_BEHIND = re.compile(rf" or (?:the )?{_VALUE}")


# A question for what is possible or allowed, which each of two may answer. It matches "Who can sign?".
_ASKS_POSSIBLE = re.compile(r"\b(?:can|could|may|might)\b", re.IGNORECASE)


def is_alternative(statement: Statement) -> bool:
    """Check whether the answer is one of two, while the question asks for one thing.

    An answer of both values is whole, as "4 or 5" is for "How many eggs does the robin lay?". Only "either" leaves it
    open which of the two it is.

    An example is "Who is the new trainer?": "The new trainer is either Ann Low or Bo Lind."

    :param statement: The sentence with the answer.
    :returns: Whether the sentence leaves open which of two is the answer.
    """
    if not _ASKS_VALUE.search(statement.question) or _ASKS_POSSIBLE.search(statement.question):
        return False
    if _BOTH.search(statement.answer):
        is_open = re.search(r"\beither (?:the )?$", statement.before) is not None
        return is_open or statement.answer.lower().startswith("either ")

    if not re.match(_VALUE, statement.answer):
        return False
    return _OR_BEFORE.search(statement.before) is not None or _OR_BEHIND.match(statement.after) is not None
