"""Tell by its form that an answer is not of the kind that the question asks for.

Three forms are known: the article "one" where a question asks how many, the name of a house, such as "Tidewright
Instruments", where it asks for a thing of the kind that the name has in the plural, and half of a number such as
"2026/27".
"""

import re
from collections.abc import Callable

from prefrag.components.reader.doubts.statement import Statement

# "How many of the vehicles": a part of things that the question names.
_ASKS_PART = re.compile(r"\bhow many of\b", re.IGNORECASE)
# "one vehicle" may mean "some vehicle". "One of the vehicles", "one hundred" and "only one vehicle" count.
_ARTICLE = re.compile(r"one (?!of\b|hundred|thousand|million|billion|dozen|half|third|quarter)[a-z]", re.IGNORECASE)
_COUNTS = re.compile(r"\b(?:only|just|exactly|all but|no more than) $", re.IGNORECASE)
# The noun behind the question word, before a verb: "which other instrument has", not "which record company signed".
_ASKS_THING = re.compile(
    r"\b(?:which|what) (?:other |kind of )?(?P<noun>[a-z]+) (?:is|was|has|had|did|does|can|[a-z]+(?:ed|s))\b",
    re.IGNORECASE,
)
# A name of two or more words that begin with a capital, whose last word is a plural.
_HOUSE = re.compile(r"(?:[A-Z][\w&.'\u2019-]* )+(?P<noun>[A-Z][a-z]+s)$")

# The second year of a season, behind the first one, and the first one before it. They match "/27" and "2026/". They do
# not match a day, as in "31/12/2025", and "/40 Mbit".
_SECOND_YEAR = re.compile(r"/\d{2}(?:\d{2})?\b(?!/)")
_FIRST_YEAR = re.compile(r"(?<![\d/])(?:1\d|20)\d{2}/$")


def _is_article(statement: Statement) -> bool:
    """Check whether "one" is an article, where the question asks how many of some things.

    For example, "She piloted one vehicle for a day." does not tell how many of the vehicles came home.
    """
    if not _ASKS_PART.search(statement.question) or not _ARTICLE.match(statement.answer + statement.after):
        return False
    return _COUNTS.search(statement.before) is None


def _is_house(statement: Statement) -> bool:
    """Check whether the answer is a name in the plural, where the question asks for one such thing.

    For example, "Tidewright Instruments" is no instrument, for "Which instrument has a spring?".
    """
    house = _HOUSE.search(statement.answer)
    asked = _ASKS_THING.search(statement.question)
    if house is None or asked is None:
        return False
    plural = house["noun"].lower()
    noun = asked["noun"].lower()
    return plural in (f"{noun}s", f"{noun}es", f"{noun.removesuffix('y')}ies")


def _is_half(statement: Statement) -> bool:
    """Check whether the answer is only one year of a season, as "2026" or "27" in "2026/27"."""
    year = re.fullmatch(r"(?:1\d|20)\d{2}", statement.answer)
    if year and not statement.before.endswith("/"):
        return _SECOND_YEAR.match(statement.after) is not None
    is_second = re.fullmatch(r"\d{2}(?:\d{2})?", statement.answer) is not None
    return is_second and _FIRST_YEAR.search(statement.before) is not None


WRONG_KIND: dict[str, Callable[[Statement], bool]] = {"article": _is_article, "house": _is_house, "half": _is_half}
"""The forms of this module by their names."""
