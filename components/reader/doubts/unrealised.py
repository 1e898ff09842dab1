"""What is planned, wished or required: modal verbs, the future, infinitives and gerunds."""

import re

from prefrag.components.reader.doubts.hearsay import asks_report
from prefrag.components.reader.doubts.statement import ASKS_PERSON, CLAUSE_END, DETERMINER, REALISED, Statement

_MODAL = re.compile(
    r"\b(?:would(?! (?:later|eventually|soon|go on)\b)|(?:could|must) have|might|should|may have|going to)\b"
)
_ASKS_MODAL = re.compile(r"\b(?:may|might|could|would|should)\b")
_IS_TO = re.compile(rf"\b(?:is|are|was|were|be) (?:\w+ly )?(?:supposed |due |meant )?to (?!{DETERMINER}\b)[a-z]")
_RULE_MODAL = re.compile(
    r"\b(?:would|could|might|should|may|going|will|shall|(?:is|are|was|were|be) (?:\w+ )?to)\b|['\u2019]ll\b"
)
_SHOULD_BE = re.compile(r"\b(?:should|is to|are to) be (?:[a-z]+ly )?([a-z]+)\b")
# "Who pays for repairs?", not "who paid" and not "who has paid".
_ASKS_SINGULAR = re.compile(r"^\W*(?:who|what|which [a-z]+) (?!(?:is|has|was|does)\b)[a-z]+(?<!s)s\b", re.IGNORECASE)
_FUTURE = re.compile(r"\b(?:will|shall|may)\b|['\u2019]ll\b")
_NOT_PAST = re.compile(r"\b(?:will|shall|do|does|is|are|can|must|should|going)\b", re.IGNORECASE)
# "Due to absorption of" has no infinitive: the endings of nouns.
_NOUN = r"[a-z]+(?:tion|sion|ment|ness|ity|ance|ence|ory|ship|ism)s?"
# What an infinitive or a gerund is about: "to sell the orchard", "to be captain", "of cutting the cable".
_OBJECT = rf" (?:{DETERMINER}|(?:to|for|in|on|at|with|from|of|as)(?: {DETERMINER})?)((?: [^\W_]+){{1,3}})"
_NOT_DONE = re.compile(
    rf"\bto (?!{DETERMINER}\b|as\b|{_NOUN}\b)(?:(?:have )?([a-z]+){_OBJECT}|be((?: [^\W_]+){{1,3}}))"
    rf"|(?:\b(?:of|from|about|against|with)|(?:ed|wn|en) for) ([a-z]+ing){_OBJECT}"
)


def is_unrealised(statement: Statement) -> bool:
    """Check whether what is asked for is only planned, wished or possible, and the question does not ask for that."""
    if statement.is_named_so or asks_report(statement):
        return False
    is_infinitive = statement.answer.startswith("to ")
    # "The costs shall be borne by the buyer" for "who bears the costs?", and "the filter should be changed monthly".
    is_rule = _is_prescribed(statement)
    # "What may it affect?" is answered by what it might affect.
    is_open = _ASKS_MODAL.search(statement.question) is not None
    if not is_rule and not is_open and statement.matches(_MODAL, is_verb=True):
        return True
    if not is_rule and not is_infinitive and statement.matches(_IS_TO, is_verb=True):
        return True
    is_present = _NOT_PAST.search(statement.question) or is_rule
    if not is_present and statement.matches(_FUTURE, is_verb=True):
        return True
    if is_rule and _SHOULD_BE.search(statement.sentence):
        return False
    if re.search(rf"\bto (?!{DETERMINER}\b)[a-z]", statement.question) or is_infinitive:
        return False
    for match in _NOT_DONE.finditer(statement.sentence):
        clause = CLAUSE_END.split(statement.sentence[match.start() :])[0]
        # The wish is about most of what is asked, or its object is the answer and its verb is asked for.
        holds_answer = match.start() < len(statement.before) < match.start() + len(clause)
        wish = " ".join(filter(None, match.groups()))
        verb = match[1] or match[3] or match[4]
        is_asked = statement.asks(wish) and statement.asks_most(clause)
        if holds_answer and statement.asks(verb):
            is_asked = True
        if not is_asked or REALISED.search(statement.sentence[: match.start()]):
            continue
        # "He was overthrown in 1985, but in 1989 they were able to overthrow the government."
        is_behind = match.start() > len(statement.before)
        if not is_behind or not statement.asks_most(CLAUSE_END.split(statement.before)[-1]):
            return True
    return False


def _is_prescribed(statement: Statement) -> bool:
    """Check whether a rule says what is asked for in the present: "shall", or "should be done" for "is it done?"."""
    modals = _RULE_MODAL.findall(statement.sentence)
    if modals == ["shall"]:
        return _ASKS_SINGULAR.search(statement.question) is not None and not statement.matches(_MODAL)
    done = _SHOULD_BE.search(statement.sentence)
    if done is None or len(modals) != 1 or ASKS_PERSON.search(statement.question):
        return False
    return re.search(rf"\b(?:is|are)\b[^?]{{0,120}} {done[1]}\b", statement.question) is not None
