"""Find out whether a number is only the total of several parts, while the question asks for one of them.

In "There are seven bins: two in the yard, five in the cellar" seven is the total, and each place has its part. So
"seven" does not answer "How many bins are in the yard?".

The sentence is read in this order: the answer, the rest of the answer's own part (" bins"), and the parts behind the
signs between them ("two in the yard" and "five in the cellar").
"""

import re

from prefrag.components.reader.doubts.statement import DETERMINER, Statement
from prefrag.components.reader.span_features import stems_of
from prefrag.components.text.number_words import VALUE_OF_NUMBER_WORD

# A whole number in figures or in words. It matches "12" and "seven". It does not match "12.4", "12%" and "40s".
_NUMBER = rf"\b(?:\d{{1,6}}(?![\d.,%]*\d|%|[a-z])|{'|'.join(VALUE_OF_NUMBER_WORD)})\b"
# A part with its number. Up to two words may stand before the number. The group ``next`` is the word behind it:
# - "two in the barn": the number 2, and "in" behind it
# - " Ida has two": the number 2, and no word behind it
# - " of which 12 leak": the number 12, and "leak" behind it
_PART = re.compile(
    rf"\s*(?:of which )?(?:[^\W\d_]+ ){{0,2}}?(?P<number>{_NUMBER})(?: (?P<next>[a-z]+))?", re.IGNORECASE
)
# What may follow the number of a part that counts the same things as the total: a preposition, a verb such as "is", or
# nothing. Another word may be a noun, so that the part counts other things, as "goals" in "5 goals".
_NAMES_NO_OTHER_THING = re.compile(r"(?:in|on|at|of|for|from|with|to|by|under|are|is|were|was|have|has)?")
# The places, owners and names in a question. They can tell a part from the total. The alternatives are:
# - "in the store", "to Enno": a preposition and what follows, up to the end or to the next preposition (group ``noun``)
# - "has Ida": a name behind another word (group ``name``)
# Words such as "live" and "many people" do not match.
_PLACE_OR_NAME = re.compile(
    rf"\b(?:in|on|at|of|for|from|with|to|by|under|behind|near|over|above|below|beside|inside|outside)"
    rf"(?: {DETERMINER})? (?P<noun>[^?,;]+?)(?=\W*$| (?:in|on|at|of|for|from|with|to|by|under)\b)"
    r"|(?<=[a-z] )(?P<name>(?-i:[A-Z])\w+)",
    re.IGNORECASE,
)
# The sign or word between the total and its parts, and between two parts. It matches the colon in "seven bins: two",
# the bracket in "20 beds (8 singles" and " and ". It does not match the comma of "1,500".
_BETWEEN_PARTS = re.compile(r"[,;:](?!\d)|[()\u2013\u2014]|\s(?:and|but|while)\s")


def is_total(statement: Statement) -> bool:
    """Check whether the answer is the total, while a part behind it has the number that the question asks for.

    :param statement: The sentence with the answer. An example is "There are seven bins: two in the yard." with the
        answer "seven", for the question "How many bins are in the yard?".
    :returns: True if the question asks "how many", and a later part of the sentence has a smaller number and a place or
        name of the question that the total lacks.
    """
    total = re.match(_NUMBER, statement.answer, re.IGNORECASE)
    asks_number = statement.question.lower().lstrip().startswith("how many")
    if total is None or not asks_number:
        return False

    rest_of_own_part, *later_parts = _BETWEEN_PARTS.split(statement.after)
    asked_places = _places_and_names(statement)
    told_with_total = stems_of(f"{statement.named} {statement.before} {statement.answer} {rest_of_own_part}")
    # "The village has 800 inhabitants, and 300 live in the old part": for "How many people live in the village?" the
    # place of the question stands with the total. So the total is what is asked for.
    if asked_places & told_with_total:
        return False
    return any(_counts_fewer(part, _value(total[0]), asked_places, statement) for part in later_parts)


def _places_and_names(statement: Statement) -> frozenset[str]:
    """List the stems of the places, owners and names in the question.

    For "How many bins are in the yard?" it is the stem "yard".
    """
    places = " ".join(match["noun"] or match["name"] for match in _PLACE_OR_NAME.finditer(statement.question))
    return statement.asked & stems_of(places)


def _counts_fewer(part: str, total: int, asked_places: frozenset[str], statement: Statement) -> bool:
    """Check whether a part counts fewer of the same things, at a place or for a name of the question.

    :param part: The part of the sentence, such as " two in the yard".
    :param total: The answer as a number.
    :param asked_places: The stems of the question's places and names.
    :param statement: The sentence with the answer.
    :returns: Whether the part, and not the total, counts what is asked for.
    """
    counted = _PART.match(part)
    is_of_question = not asked_places.isdisjoint(stems_of(part))
    if counted is None or not is_of_question:
        return False
    if _value(counted["number"]) >= total:
        return False
    # Behind "20 points", the part "5 rebounds" counts other things. The part "one lies in the store" does not: the
    # question "How many boats lie in the store?" has the word "lies" too.
    next_word = counted["next"] or ""
    return _NAMES_NO_OTHER_THING.fullmatch(next_word) is not None or statement.asks(next_word)


def _value(number: str) -> int:
    """Return the value of a whole number in figures or in words. For example, ``_value("Seven")`` returns ``7``."""
    if number.isdigit():
        return int(number)
    # Without regard to case, a pattern for "six" also matches a word with a dotless i. Such a word has no value here.
    return VALUE_OF_NUMBER_WORD.get(number.casefold(), 0)
