"""Find out whether the text in front of a statement takes the statement back, or only frames it.

Such a text is a heading ("Cancelled"), a line with a colon ("The following no longer applies:"), a label before the
sentence ("Rumour: the fee is 12 euros"), a sentence that denies what follows ("It is not true."), or a reply above the
quotation of a mail. A label counts only under three conditions:

- Its words are in a short list.
- The text behind the label is a clause with its own verb.
- The question does not have the words of the label.
"""

import re

from prefrag.components.reader.doubts.retraction import DENIES_TRUTH
from prefrag.components.reader.doubts.statement import (
    AFFIRMING,
    CLAUSE_END,
    DETERMINER,
    HAS_CLAUSE,
    UNDOING,
    Statement,
)
from prefrag.components.reader.span_features import stems_of

# A heading that begins with a word such as "cancelled" or "sold", perhaps before a noun or two. It matches "Cancelled",
# "Already sold" and "Rejected offers". It does not match "United States", "Related documents" and "Cancelled by the
# firm in May".
_PARTICIPLE = re.compile(
    rf"(?:(?:already|now|since|all|mostly|meanwhile) )?{UNDOING}(?: [a-z]+){{0,2}}\W*", re.IGNORECASE
)
# A heading that says that something does not hold, or that it held earlier:
# - "No longer in charge", "This is not in force any more": an end
# - "Not booked", "not yet valid": a denied decision or validity, but not "not included"
# - "Former members", "Last year": an earlier time
# It does not match "Do not overload", "No parking" and "Previously on".
_DENIAL = re.compile(
    r"\b(?:no longer|not [^.:]{0,30}\bany ?more)\b"
    r"|(?:\bnot|n['\u2019]t)(?: yet)? (?:appl(?:y|ies)|valid|applicable|in force|(?!included)"
    rf"{AFFIRMING})\b"
    r"|^\W*(?:former|previous) [a-z]+\W*$|^\W*(?:formerly|(?:in )?last (?:year|month|week|season))\W*$",
    re.IGNORECASE,
)
# A heading that is a question or a condition. Its "not" or "no" denies nothing of what stands below it. It matches "If
# it does not start" and "Why is there no heat?".
_CASE = re.compile(r"\W*(?:if|when|where|why|what|who|how)\b|.*\?\W*$", re.IGNORECASE)
# A form of the past in a question. "Former members" takes nothing back for "Who was a member?".
_ASKS_PAST = re.compile(r"\b(?:was|were|did|had)\b", re.IGNORECASE)
# A label before a sentence. Its groups are the label and the rest, which begins with any word, as the case is ignored.
# `_has_label` checks whether the rest is a sentence. It matches "Option 1: the fee is due". It does not match "19:30"
# and "The fee (new: the half) is due".
_LABEL = re.compile(
    r"[^\w\n(\"\u201c]*(?P<label>[^\W\d_][^.:;!?\n()\[\]\"\u201c]{0,60}):\s+"
    rf"(?P<rest>(?:{DETERMINER}|he|she|it|they|we|I|[A-Z][\w.]*)\b.*)",
    re.DOTALL | re.IGNORECASE,
)
# The maximum number of words of a label, or of a line that counts as a heading although no mark of the file says so.
# Longer texts are clauses, such as "However, this does not imply a change".
_LABEL_WORDS = 5
# A label that makes the sentence a rumour, a proposal, an example or something old. The list of its nouns is short and
# complete. The alternatives are:
# - "Rumour", "Option 1", "Sketch on the door": such a noun, perhaps with a number, or with a place or time
# - "Old plan", "my first idea": the same noun behind an article or an adjective
# - "Old", "last year": an earlier time
# - "Wrong", "Somebody joked": an error, or a person who says something
# It does not match "History", "Payment" and "Step 3".
_FRAMING = re.compile(
    r"(?:(?:an?|the|my|our|her|his|their|old|first|early|another|for|wild|mere|rejected) )*"
    r"(?:rumou?r|gossip|hearsay|guess|joke|myth|claim|legend|fake|lie|theory|hypothesis|assumption|proposal|suggestion"
    r"|option|variant|alternative|offer|draft|sketch|example|idea|plan|wish|dream|scenario|question)s?"
    r"(?: (?:\d+|[A-Z]))?(?: (?:on|in|at|of|by|from|for)(?: [^\W_]+){1,3})?"
    r"|old(?: (?:price|rule|date|value|version|text))?|last (?:year|month|week|season)"
    r"|wrong|false|untrue|incorrect|(?:somebody|someone|people|they) [a-z]+",
    re.IGNORECASE,
)
# Words with which a sentence begins that says first when, where or why. "Greece: In May the fair was held" is such a
# sentence under a topic, so its label frames nothing.
_OPENING_WORDS = ("In ", "On ", "At ", "After ", "Before ", "Due ", "During ", "From ", "For ", "With ", "By ", "As ")
# A clause of a reply that says no. It matches "No" and "No. Measure again". It does not match "No. 7 is free".
_NO = re.compile(r"\W*no(?:[.:;!] (?!\d)|\W*$)", re.IGNORECASE)


def is_framed(statement: Statement) -> bool:
    """Check whether a text in front of the statement takes the statement back, or makes it an example or a proposal.

    An example is "What is the fee?": "Proposal: the fee is 12 euros."

    :param statement: The sentence with the answer.
    :returns: Whether such a text stands in front of it.
    """
    return (
        _is_below_denial(statement)
        or _has_label(statement)
        or _is_behind_denial(statement)
        or _is_quoted_and_denied(statement)
    )


def _is_below_denial(statement: Statement) -> bool:
    """Check whether a heading or the line above the sentence takes back everything below it, as "Cancelled" does."""
    # The opening is the line with a colon above a list, such as "No longer valid:".
    headings = [*statement.heading.split(" > "), statement.opening]
    line_above = statement.earlier[-1] if statement.earlier else ""
    # A short line without a full stop is a heading, also in a file that marks no headings.
    if len(line_above.split()) <= _LABEL_WORDS and line_above[-1:].isalnum():
        headings.append(line_above)
    return any(_denies(statement, heading) for heading in headings)


def _denies(statement: Statement, heading: str) -> bool:
    """Check whether a heading or label takes back what stands below it.

    It does not if the question asks for just that: if it has a word of a heading such as "Cancelled offers", or if it
    contains any denial or past form.
    """
    if not heading or _CASE.match(heading):
        return False
    if _PARTICIPLE.fullmatch(heading):
        return not statement.asks(heading)
    asks_for_denied = _DENIAL.search(statement.question) is not None
    asks_for_past = _ASKS_PAST.search(statement.question) is not None
    if asks_for_denied or asks_for_past:
        return False
    return _DENIAL.search(heading) is not None


def _has_label(statement: Statement) -> bool:
    """Check whether a label such as "Rumour:" or "Option 1:" stands before the sentence, and the question lacks it."""
    match = _LABEL.match(statement.sentence)
    if match is None:
        return False
    is_before_answer = match.end("label") <= len(statement.before)
    if not is_before_answer:
        return False
    label, rest = match["label"].strip(), match["rest"]
    if len(label.split()) > _LABEL_WORDS:
        return False
    if _denies(statement, label):
        return True
    is_before_clause = HAS_CLAUSE.search(rest) is not None and not rest.startswith(_OPENING_WORDS)
    if not is_before_clause or not _FRAMING.fullmatch(label):
        return False
    # A label such as "Plan:" on a page with the title "Plan of the house" names the topic of the page.
    stems_of_titles = stems_of(f"{statement.named} {statement.heading}")
    is_in_titles = stems_of(label) <= stems_of_titles
    return not statement.asks(label) and not is_in_titles


def _is_behind_denial(statement: Statement) -> bool:
    """Check whether the sentence before denies the statement, as "It is not true." does before "The fee is 12 euros.".

    In "The fee is 9 euros. That is wrong. The fee is 12 euros." it denies its own predecessor: this sentence has the
    words of the question too.
    """
    if not statement.earlier:
        return False
    *sentences_before, denial = statement.earlier
    if not DENIES_TRUTH.fullmatch(denial.strip()):
        return False
    if not sentences_before:
        return True
    # If the predecessor has most of the question's words, the denial belongs to the predecessor.
    denies_predecessor = statement.asks_most(sentences_before[-1])
    return not denies_predecessor


def _is_quoted_and_denied(statement: Statement) -> bool:
    """Check whether the statement is quoted in a mail, and the reply above the quotation says that it is wrong."""
    if not statement.is_quoted:
        return False
    reply = [sentence for sentence in statement.earlier if not sentence.startswith(">")]
    clauses = [clause.strip(" ,") for sentence in reply for clause in CLAUSE_END.split(sentence)]
    return any(DENIES_TRUTH.fullmatch(clause) or _NO.match(clause) for clause in clauses)
