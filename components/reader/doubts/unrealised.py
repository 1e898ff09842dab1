"""Find out whether a sentence only plans, wishes or requires what is asked for.

Such a sentence has one of four forms: a modal verb such as "would", the future, an infinitive as in "hopes to run", or
a gerund as in "dreams of running".
"""

import re

from prefrag.components.reader.doubts.hearsay import asks_report
from prefrag.components.reader.doubts.statement import ASKS_PERSON, CLAUSE_END, DETERMINER, REALISED, Statement

# A modal verb for something that may not have happened. It matches "would", "might" and "could have". It does not match
# "would later" and "could".
_MODAL = re.compile(
    r"\b(?:would(?! (?:later|eventually|soon|go on)\b)|(?:could|must) have|might|should|may have|going to)\b"
)
# A modal verb in a question.
_ASKS_MODAL = re.compile(r"\b(?:may|might|could|would|should)\b|^\W*(?:May|Might|Could|Would|Should)\b")
# A plan with a form of "to be" and an infinitive. It matches "was to open" and "is supposed to open". It does not match
# "is to the north".
_IS_TO = re.compile(rf"\b(?:is|are|was|were|be) (?:\w+ly )?(?:supposed |due |meant )?to (?!{DETERMINER}\b)[a-z]")
# Any modal verb, the future or a plan. They are counted to find a rule, which has only one of them.
_RULE_MODAL = re.compile(
    r"\b(?:would|could|might|should|may|going|will|shall|(?:is|are|was|were|be) (?:\w+ )?to)\b|['\u2019]ll\b"
)
# A rule in the passive. Its group is the verb. It matches "should be changed" and "are to be replaced".
_SHOULD_BE = re.compile(r"\b(?:should|is to|are to) be (?:[a-z]+ly )?([a-z]+)\b")
# A question for the doer of a deed in the present. It matches "Who pays for repairs?". It does not match "Who paid?"
# and "Who has paid?".
_ASKS_SINGULAR = re.compile(r"^\W*(?:who|what|which [a-z]+) (?!(?:is|has|was|does)\b)[a-z]+(?<!s)s\b", re.IGNORECASE)
# The future, or a permission.
_FUTURE = re.compile(r"\b(?:will|shall|may)\b|['\u2019]ll\b")
# A verb that shows that a question is not about the past.
_NOT_PAST = re.compile(r"\b(?:will|shall|do|does|is|are|can|must|should|going)\b", re.IGNORECASE)
# A noun, known by its ending. "Due to absorption of" has no infinitive.
_NOUN = r"[a-z]+(?:tion|sion|ment|ness|ity|ance|ence|ory|ship|ism)s?"
# What an infinitive or a gerund is about, as in "to sell the orchard", "to be captain" and "of cutting the cable".
_OBJECT = rf" (?:{DETERMINER}|(?:to|for|in|on|at|with|from|of|as)(?: {DETERMINER})?)((?: [^\W_]+){{1,3}})"
# A deed that is only wanted or discussed:
# - "hopes to run the kiosk", "to be captain": an infinitive
# - "dreams of running the kiosk", "planned for opening the inn": a gerund
_NOT_DONE = re.compile(
    rf"\bto (?!{DETERMINER}\b|as\b|{_NOUN}\b)(?:(?:have )?([a-z]+){_OBJECT}|be((?: [^\W_]+){{1,3}}))"
    rf"|(?:\b(?:of|from|about|against|with)|(?:ed|wn|en) for) ([a-z]+ing){_OBJECT}"
)


def is_unrealised(statement: Statement) -> bool:
    """Check whether what is asked for is only planned, wished or possible in the sentence.

    An example is "When did the inn open?": "The inn was to open on 2 May 2025." A question that asks for a plan itself,
    such as "When will the inn open?", raises no doubt.

    :param statement: The sentence with the answer.
    :returns: Whether the sentence does not say that the deed was done.
    """
    if statement.is_named_so or asks_report(statement):
        return False
    # Rules answer a question in the present. "The costs shall be borne by the buyer" answers "Who bears the costs?".
    # "The filter should be changed monthly" answers "How often is the filter changed?".
    if _is_prescribed(statement):
        if _SHOULD_BE.search(statement.sentence):
            return False
    elif _has_unreal_verb(statement):
        return True

    # A question with an infinitive, or with an answer such as "to sell it", asks for what is wanted.
    asks_for_infinitive = re.search(rf"\bto (?!{DETERMINER}\b)[a-z]", statement.question)
    if asks_for_infinitive or statement.answer.startswith("to "):
        return False
    return any(_is_only_wanted(statement, match) for match in _NOT_DONE.finditer(statement.sentence))


def _has_unreal_verb(statement: Statement) -> bool:
    """Check whether what is asked for has a modal verb, a plan or the future, which the question does not ask for."""
    # "What may it affect?" is answered by what it might affect.
    asks_modal = _ASKS_MODAL.search(statement.question) is not None
    if not asks_modal and statement.matches(_MODAL, is_verb=True):
        return True
    # In "The aim was to open the inn", the plan itself may be the answer.
    if not statement.answer.startswith("to ") and statement.matches(_IS_TO, is_verb=True):
        return True
    asks_past = not _NOT_PAST.search(statement.question)
    return asks_past and statement.matches(_FUTURE, is_verb=True)


def _is_only_wanted(statement: Statement, match: re.Match[str]) -> bool:
    """Check whether a match of ``_NOT_DONE``, a deed that is only wanted or discussed, is what is asked for."""
    clause = CLAUSE_END.split(statement.sentence[match.start() :])[0]
    # The wish must be about most of what is asked. Or the answer is its object, and the question has its verb.
    holds_answer = match.start() < len(statement.before) < match.start() + len(clause)

    wish = " ".join(filter(None, match.groups()))
    verb = match[1] or match[3] or match[4]
    is_about_question = statement.asks(wish) and statement.asks_most(clause)
    has_answer_as_object = holds_answer and statement.asks(verb)
    if not is_about_question and not has_answer_as_object:
        return False
    if REALISED.search(statement.sentence[: match.start()]):
        return False

    # In "He was overthrown in 1985, but in 1989 they were able to overthrow the government", the clause before the wish
    # already answers the question.
    is_behind_answer = match.start() > len(statement.before)
    clause_before = CLAUSE_END.split(statement.before)[-1]
    is_answered_before = is_behind_answer and statement.asks_most(clause_before)
    return not is_answered_before


def _is_prescribed(statement: Statement) -> bool:
    """Check whether the sentence is a rule that answers a question in the present.

    "The landlord shall pay for repairs" answers "Who pays for repairs?". "The panes are to be replaced in May" answers
    "When are the panes replaced?".
    """
    modals = _RULE_MODAL.findall(statement.sentence)
    if modals == ["shall"]:
        return _ASKS_SINGULAR.search(statement.question) is not None and not statement.matches(_MODAL)

    rule = _SHOULD_BE.search(statement.sentence)
    if rule is None or len(modals) != 1 or ASKS_PERSON.search(statement.question):
        return False
    verb = rule[1]
    return re.search(rf"\b(?:is|are)\b[^?]{{0,120}} {verb}\b", statement.question) is not None
