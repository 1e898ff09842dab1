"""Extend a span to the borders of its tokens, so that no part of an address, a code or a number is shown as an answer.

The trees choose among spans that patterns and the encoder propose. Some of them end inside of a token: "18 °C" in
"-18 °C", "info@ferry" in "info@ferry.example". The chosen span is extended after the choice, because the trees were
trained on the spans as they are.
"""

import re

from prefrag.components.reader.codes import find_codes

# A token that an answer must not be a part of:
# - an address of mail, such as "info@ferry.example"
# - an address of the web, such as "https://ferry.example/times"
# - a path, such as "/etc/harbour/main.conf", "~/notes" and "C:\\Data\\x"
# - a telephone number with brackets, such as "(01632) 960-117"
# - a number with the capital letters of its country and a group of four digits, such as "GB 123 4567 89", but not
#   "UK 12 000 people" and "UK 450 470"
_TOKEN = re.compile(
    r"""
    (?<![\w.+-]) [\w.+-]+ @ [\w-]+ (?:\.[\w-]+)+
    | \b[a-z]{2,10}://\S+ | \bwww\.\S+
    | (?<!\S) (?:~?/[\w.-]+){2,} | (?<!\S) ~/[\w.-]+ | (?<![^\W_]) [A-Za-z]:\\\S* | (?<!\S) \\\\\S+
    | (?<![^\W_]) \([+0]\d+\) [ ]? \d[\d/-]*(?:[ ]\d[\d/-]*)*
    | \b [A-Z]{2}[ ]? (?=[\d ]*\d{4}) \d{2,} (?:[ ]\d{2,})+ \b (?![ ][a-z\d])
    """,
    re.VERBOSE,
)
# Signs at the end of such a token that belong to the sentence.
_SENTENCE_SIGNS = ".,;:!?)]}>'\"\u2019\u201d"
# A sign directly before a number, such as that of "-18". It does not match the hyphen of "10-18" and "10 -18", and not
# that of a list at the beginning of a line.
_NUMBER_SIGN = re.compile(
    r"(?:\b(?:at|to|of|is|are|was|were|than|and|or|by|about|above|below|under|over|from|between|until) |[|:=] |\()"
    r"[-+\u2212\u00b1]$"
)
# The rest of a code with a blank, if its number has at least three digits and counts nothing. It matches " 45001.". It
# does not match " 3-0" and " 450 people".
_LONG_NUMBER = re.compile(r" \d{3,}(?:[-./_]\d+)*(?![^\W_])(?!\s[\da-z])")
# What an amount is counted by. It matches " a second" and " per head". It does not match " a year later".
_RATE = re.compile(
    r" (?:an?|per) (?:second|minute|hour|day|night|week|month|quarter|year)\b"
    r"(?! (?:later|ago|before|after|earlier|old)\b)"
    r"| per (?:annum|person|head|child|adult|guest|member|room|piece|unit|item|page|visit|litre|metre|kilometre|mile"
    r"|kilo|kilogram|tonne)\b"
)
_DIGIT = re.compile(r"\d")
# Two numbers with units, such as "9AM-5PM" and "5C-8C".
_RANGE = re.compile(r"\d+[A-Za-z]+-\d+[A-Za-z]+")


def extend_to_tokens(text: str, begin: int, end: int) -> tuple[int, int]:
    """Extend a span to the borders of the tokens in which it begins and ends.

    For example, in ``"It is -18 °C."`` the span of "18 °C" is extended to that of "-18 °C".

    :param text: The text.
    :param begin: The index of the span's first character in the text.
    :param end: The index after its last character.
    :returns: The same for the extended span.
    """
    for left, right in _find_tokens(text):
        # Only a token that the span cuts in two is of interest.
        if left < end and begin < right:
            begin, end = min(begin, left), max(end, right)

    # 38 cubic metres are not 38 cubic metres a second.
    rate = _RATE.match(text, end)
    if rate and _DIGIT.search(text, begin, end):
        end = rate.end()
    if text[begin : begin + 1].isdigit() and _NUMBER_SIGN.search(text, max(0, begin - 20), begin):
        begin -= 1
    return begin, end


def _find_tokens(text: str) -> list[tuple[int, int]]:
    """Find where the tokens of a text begin and end."""
    tokens: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(text):
        token = match[0].rstrip(_SENTENCE_SIGNS)
        tokens.append((match.start(), match.start() + len(token)))

    for code in find_codes(text):
        # In "beat USA 3-0" and "the EU 27 states" the capital letters are no part of the number.
        blank = text.rfind(" ", code.begin, code.end)
        # "9AM-5PM" is a range.
        is_range = _RANGE.fullmatch(text, code.begin, code.end) is not None
        if code.has_letters and not is_range and (blank < 0 or _LONG_NUMBER.match(text, blank)):
            tokens.append((code.begin, code.end))
    return tokens
