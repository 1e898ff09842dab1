"""Find out whether a sentence only reports what somebody says, thinks or denies.

A verb of saying is recognised by its place in the sentence, not by a list of verbs. It stands before "that", or
directly before a clause with its own verb. Sources such as "according to gossip" and adverbs such as "reportedly" count
too. A few verbs such as "show" and "decide" vouch for what they govern, so they raise no doubt.
"""

import re
from collections.abc import Iterator

from prefrag.components.reader.doubts.statement import (
    ASKS_PERSON,
    CLAUSE_END,
    COMMON,
    DETERMINER,
    REALISED,
    Statement,
    words_of,
)
from prefrag.components.reader.span_features import stem, stems_of
from prefrag.components.text.title_mentions import FUNCTION_WORDS

# The infinitive of a past deed. It matches "said to have left" and "to have been sold". It does not match
# "to have the boat".
_TO_HAVE = re.compile(r"\bto have (?:been )?(?!to |been |an? |the |no )\w+")
# Words that make a text a rumour:
# - "perhaps", "reportedly", "whether": an adverb or a conjunction
# - "rumour has it": a noun with has it
# - "denies having", "from having": a denied deed
# - "accused of having": a charge, whose first word is the group ``charge``
# - "is said to be", "was believed to have": a passive verb of saying
_HEARSAY = re.compile(
    r"\b(?:perhaps|maybe|possibly|probably|presumably|apparently|allegedly|reportedly|supposedly|seemingly|purportedly"
    r"|hopefully|ideally|theoretically|conceivably|hypothetically|whether"
    r"|(?:from|with|denie[sd]|denying) having|[a-z]+ ha[sd] it)\b"
    r"|\b(?P<charge>[a-z]+) of having\b"
    r"|\b(?:is|are|was|were|been) (?:said|thought|\w+ed) to (?:be|have)\b",
    re.IGNORECASE,
)
# Verbs that vouch for what they govern: it is true or decided, as in "the tests showed that". The list is short and
# complete.
_FACTIVE = re.compile(
    r"(?:know|knows|knew|known|show|shows|showed|shown|prove|proves|proved|proven|decide|decides|decided|resolved"
    r"|confirm|confirms|confirmed|announce|announces|announced|agree|agrees|agreed)"
)
# A request to notice something. It matches "Please note" and "Remember".
_NOTICE = re.compile(r"^(?:[Pp]lease )?(?:[Nn]ote|[Rr]emember)$")
# Words before a verb that show that the deed is not done. In "tried to show that" and "will prove that" they make the
# verb vouch for nothing. It matches "tried to " and "will ".
_UNREAL = re.compile(
    r"\b(?:to|not|will|shall|may|might|can|cannot|could|would|should|must)(?: have)?(?: been| be)? (?:[a-z]+ly )?$"
)
# The one who reports, with the verb of saying. The group ``name`` is the first word of a name. The verb is the group
# ``plain`` behind a pronoun such as "they", else the group ``governor``. It matches "Ivo says ", "They claim " and
# "the author wrote ".
_REPORTER = (
    r"(?:^|[,;] )(?:(?:[Ii]|[Ww]e|[Tt]hey|[Pp]eople) (?:[a-z]+ly )?(?P<plain>[a-z]+)"
    rf"|(?:(?P<name>[A-Z]\w+)(?: [A-Z]\w+){{0,2}}|[Hh]e|[Ss]he|[Ii]t|(?i:{DETERMINER}) [a-z]+) (?:[a-z]+ly )?"
    r"(?P<governor>[a-z]+(?<!s)s|[a-z]+ed|said|thought|told [a-z]+|felt|wrote)) "
)
# A verb of saying directly before a clause with its own verb, without a conjunction. It matches
# "Ivo says the code is 4417". It does not match "Ivo says where the code is".
_BARE_COMPLEMENT = re.compile(
    rf"{_REPORTER}(?=(?:{DETERMINER}|he|she|it|they|we|I|there|[A-Z]\w+) )"
    r"(?=(?:(?!(?:and|or|but|that|which|who|whose|whom|where|what|when|while|because|if|as|so|since|after|before)\b)"
    r"[^\W_]+ ){1,6}?(?:is|are|was|were|has|have|had|will|can|does|did)\b)"
)
# A verb of saying directly before a noun phrase or a pronoun, which may begin a clause. It matches "Ivo says " before
# "the tent". It does not match "Ivo says " before "where".
_BEFORE_SUBJECT = re.compile(rf"{_REPORTER}(?!that )(?=(?:{DETERMINER}|he|she|it|they|we|I|there|[A-Z]\w+) )")
# A clause with a verb in "s" before an object or a number. It matches "the tent costs 120". It does not match "the
# tents in May" and "the fund as its".
_OWN_VERB = re.compile(
    rf"(?:{DETERMINER}|[A-Z]\w+) (?:(?!(?:of|in|on|at|for|with|from|by|to|as|and|or)\b)[^\W_]+ ){{1,3}}?"
    rf"[a-z]{{3,}}(?<![su])s (?:{DETERMINER}\b|\d)"
)
# A question with "do". Its group is the verb, if a preposition, a unit or the end follows it. It matches
# "What does the tent cost?" and "What does it cost a day?".
_ASKS_WITH_DO = re.compile(
    r"\b(?:do|does|did)\b[^?]*? (?P<verb>[a-z]{3,})(?=\W*$| (?:in|on|at|to|for|from|with|by|per|an?|each|now|today)\b)"
)
# A question for the doer. Its group is the verb. It matches "Who cuts the hedge?".
_ASKS_DOER = re.compile(r"^\W*who (?P<verb>[a-z]{2,}(?:s|ed))\b", re.IGNORECASE)
# A word behind which another clause may begin. It matches " who " in "a hare who runs".
_NEXT_CLAUSE = re.compile(r"\s(?:and|or|but|that|which|who|when|where|while)\s")
# The maximum number of words from the beginning of a clause up to its verb.
_WORDS_TO_VERB = 8
# A supposition, which is an imperative. It matches "Suppose the tent" and "Let us say that it". It does not match
# "Imagine is a song".
_SUPPOSED = re.compile(
    r"(?:^|[.:;] )\W*(?:let(?:['\u2019]s| us) )?"
    rf"(?:suppos(?:e|ing)|imagine|assum(?:e|ing)|pretend|say(?=,| that| {DETERMINER}\b))"
    rf"(?:,? that)?,? (?=(?:{DETERMINER}|he|she|it|they|we|I|there|(?-i:[A-Z])\w+) )",
    re.IGNORECASE,
)
# Somebody's opinion behind the sentence. It matches ", says Piet.", ", or so they say" and ", I believe.".
_TAIL = re.compile(
    r",(?: or)?(?: (?:so|as))?"
    r"(?: (?:(?:[Ii]|[Ww]e|[Tt]hey|[Hh]e|[Ss]he|[Pp]eople) (?P<plain>[a-z]+)"
    r"|[A-Z]\w+(?: [A-Z]\w+)? (?P<behind>[a-z]+s|said|thought))"
    rf"| (?P<before>[a-z]+s|said|thought) (?:he|she|[A-Z]\w+(?: [A-Z]\w+)?|{DETERMINER} [a-z]+))[.!]?$"
)
# Such an opinion between two commas. It matches ", they tell us,".
_INSERTED = re.compile(r", (?:I|we|they|people) (?P<verb>[a-z]+)(?: (?:me|us|you))?,")
# A passive verb before an infinitive. Its groups are the two verbs. It matches "was estimated to cost".
_PASSIVE = re.compile(r"\b(?:is|are|was|were|been) (?:[a-z]+ly )?(?P<governor>[a-z]+ed) to (?P<verb>[a-z]+)\b")
# Passive verbs whose infinitive is done. The list is short and complete. It matches "forced".
_DONE_SO = re.compile(
    r"(?:forced|allowed|permitted|used|enabled|invited|elected|chosen|hired|recorded|reported|required|obliged"
    r"|designed|built|made|rated|tested|limited|reduced|raised|set|licensed|certified|approved|guaranteed)"
)
# The beginning of a sentence that judges a clause. It matches "It is a " before "joke that the tent costs 9 euros".
_IT_IS = re.compile(rf"\b(?:it|there)(?: is| was|['\u2019]s) {DETERMINER} (?:[a-z]+ )?$", re.IGNORECASE)
# A verb of saying directly before the answer. It matches "Ann Low says ".
_REPORTS_DOER = re.compile(rf"{_REPORTER}$")
# A question for all that somebody says. Its group is the speaker. It matches "What did Ann say?".
_ASKS_SAID = re.compile(r"^\W*what (?:do|does|did|has|have|had) (?P<speaker>[^?]+?) [a-z]+\W*$", re.IGNORECASE)
# The next word is neither a conjunction nor a preposition.
_NO_CLAUSE = r"(?!(?:when|where|who|which|that|because|if|while|as|after|before|to|in|on|at|of|for|with|by|from)\b)"
# A question for what somebody says. A second verb shows that the first verb governs a clause. Its group is the speaker.
# It matches "Where does the report say the wreck was found?". It does not match "Where does the report lie?".
_ASKS_REPORT = re.compile(
    rf"\b(?:do|does|did) (?P<speaker>(?:{_NO_CLAUSE}[^\W_][\w.'\u2019-]* )+?){_NO_CLAUSE}[a-z]+ (?:that )?"
    rf"(?:(?!(?:when|where|who|which|that|because|if|while|as|after|before)\b)[\w.'\u2019-]+ )*?"
    r"(?:is|are|was|were|will|would|can|could|may|might|should|must)\b",
    re.IGNORECASE,
)
# An official source, such as an office, a paper or a count: an article, and then a capital letter or a year. People and
# rumours do not have both. It matches "the 2011 Census". It does not match "the porter" and "gossip".
_OFFICIAL = re.compile(r"[Tt]he (?:[^\W_]+(?:-[^\W_]+)* )?(?:[A-Z]|\d)")
# The source of a statement, which is the group. It matches "According to the porter, it rains".
_SOURCE = re.compile(r"(?:^|[,;] )[Aa]ccording to ((?:[^\W_]+ ?){1,4})")
# A verb or noun of saying before "that" and a new clause. It matches "claim that he left" and "denies that in May". It
# does not match "the boat that sank".
_COMPLEMENT = re.compile(
    r"\b(?P<governor>[a-z]+) that (?=(?:he|she|it|they|we|I|there|some|no|most|many|all|both|one|two|[A-Z]\w+|\d+"
    r"|(?:in|on|at|as|after|before|since|during|between|under|over|for|by|with|from|to) \w+|" + DETERMINER + r")\b)"
)
# A clause with its own object. "The claim that he left the door open" reports something. In
# "the novel that he wrote in June" the object stands before "that". It matches "he left the door open".
_WHOLE_CLAUSE = re.compile(rf"(?:[^\W_]+ ){{1,3}}(?:to [a-z]|{DETERMINER} )")
# A clause that begins with a pronoun, so it may be about the answer before the verb. It matches "it is 4417".
_OF_THAT = re.compile(r"(?:it|he|she|they|this|these|there)\b", re.IGNORECASE)


def is_hearsay(statement: Statement) -> bool:
    """Check whether what is asked for is only said, thought or supposed in the sentence.

    An example is "Who sank the raft?": "People claim that Jim Orr sank the raft." A question that asks for such a
    report itself, as in "When does Ann say the mill was built?", raises no doubt.

    :param statement: The sentence with the answer.
    :returns: Whether the sentence only reports the answer.
    """
    if asks_report(statement):
        return False
    if _is_claim(statement) or _is_rumour(statement) or _has_doubtful_source(statement):
        return True
    if _is_supposed(statement) or _is_opinion(statement) or _is_passive_report(statement):
        return True

    if any(_is_reported(statement, match) for match in _COMPLEMENT.finditer(statement.sentence)):
        return True

    for match in _reports(statement):
        if match["name"] and match["name"].lower() in FUNCTION_WORDS:
            continue
        if not _is_vouched(statement, match) and statement.is_governed(match.end()):
            return True
    return False


def _is_claim(statement: Statement) -> bool:
    """Check whether somebody is only said "to have done" what is asked for.

    "The ten teams claim to have won once" is a claim. "One of only ten teams to have won once" did win.
    """
    done = _TO_HAVE.search(statement.sentence)
    if done is None or not statement.matches(_TO_HAVE):
        return False
    return REALISED.search(statement.before[: done.start()]) is None


def _is_rumour(statement: Statement) -> bool:
    """Check whether a word such as "reportedly", or "accused of having", makes the sentence a rumour.

    A question for the charge itself, such as "What was Ann accused of?", is left out.
    """
    rumour = _HEARSAY.search(statement.sentence)
    # "What was Ann accused of?" asks for what she was "accused of having" done.
    is_charge_asked = rumour is not None and rumour["charge"] is not None and statement.asks(rumour["charge"])
    return not is_charge_asked and statement.matches(_HEARSAY)


def _has_doubtful_source(statement: Statement) -> bool:
    """Check whether the sentence says "according to" somebody who is no official source.

    An example is "According to gossip, Eva Poe sold the urn". A source that the question or the answer names is left
    out.
    """
    match = _SOURCE.search(statement.sentence)
    if match is None or _OFFICIAL.match(match[1]):
        return False
    return not statement.asks(match[1]) and statement.answer not in match[1]


def asks_report(statement: Statement) -> bool:
    """Check whether the question asks what somebody in the sentence or the title says.

    An example is "What does Ann think is the best time?".

    :param statement: The sentence with the answer.
    :returns: Whether the question asks for a report.
    """
    report = _ASKS_REPORT.search(statement.question)
    if report is None:
        return False
    stems_of_speaker = {stem(word) for word in words_of(report["speaker"]) if word not in COMMON}
    stems_of_text = stems_of(f"{statement.named} {statement.sentence}")
    return not stems_of_speaker.isdisjoint(stems_of_text)


def _reports(statement: Statement) -> Iterator[re.Match[str]]:
    """Find the verbs of saying that stand directly before a clause with its own verb, without a conjunction."""
    yield from _BARE_COMPLEMENT.finditer(statement.sentence)

    for match in _BEFORE_SUBJECT.finditer(statement.sentence):
        behind = statement.sentence[match.end() :]
        clause = CLAUSE_END.split(behind)[0]
        if _OWN_VERB.match(clause) or _has_asked_verb(statement.question, clause):
            yield match

    # "Ann says Eva leads the choir" for "Who leads the choir?": the answer stands between a verb of saying and the verb
    # of the question.
    verb_behind = re.match(r" ([a-z]+)", statement.after)
    is_doer = verb_behind is not None and statement.asks(verb_behind[1])
    if is_doer and ASKS_PERSON.search(statement.question):
        yield from _REPORTS_DOER.finditer(statement.before)


def _has_asked_verb(question: str, clause: str) -> bool:
    """Check whether a clause has the verb of a question as its own verb.

    For example, ``_has_asked_verb("What does the tent cost?", "the tent costs 120 euros")`` returns ``True``.

    :param question: The question.
    :param clause: A text that begins with a noun phrase.
    :returns: Whether one of the first words of the clause is the question's verb.
    """
    own_clause = _NEXT_CLAUSE.split(clause)[0]
    words = words_of(own_clause)[1:_WORDS_TO_VERB]
    asked_doer = _ASKS_DOER.search(question)
    if asked_doer is not None and asked_doer["verb"].lower() in words:
        return True
    asked = _ASKS_WITH_DO.search(question)
    if asked is None or asked["verb"] in COMMON:
        return False
    base = asked["verb"].removesuffix("e")
    return any(f"{base}{ending}" in words for ending in ("s", "es", "ed"))


def _is_supposed(statement: Statement) -> bool:
    """Check whether the sentence only supposes the answer, as in "Suppose the tent costs 120 euros"."""
    match = _SUPPOSED.search(statement.sentence)
    return match is not None and statement.is_governed(match.end())


def _is_opinion(statement: Statement) -> bool:
    """Check whether the sentence gives the answer as somebody's words, as in "The tent costs 120 euros, says Piet"."""
    verbs = [match["verb"] for match in _INSERTED.finditer(statement.sentence)]
    tail = _TAIL.search(statement.after)
    if tail is not None:
        verbs.append(tail["plain"] or tail["behind"] or tail["before"])
    for verb in verbs:
        is_vouching = verb in FUNCTION_WORDS or _FACTIVE.fullmatch(verb) is not None
        if not is_vouching and not statement.asks(verb):
            return True
    return False


def _is_passive_report(statement: Statement) -> bool:
    """Check whether somebody only thinks that the question's verb is so, as in "was estimated to cost 3,260 euros"."""
    # "Designed to protect the poor" tells a purpose, so only amounts are examined.
    if not re.search(r"\d", statement.answer):
        return False
    asked = set(words_of(statement.question)) - COMMON
    for match in _PASSIVE.finditer(statement.sentence):
        is_before_answer = match.end() <= len(statement.before)
        if not is_before_answer or match["verb"] not in asked:
            continue
        governor = match["governor"]
        if not statement.asks(governor) and not _DONE_SO.fullmatch(governor):
            return True
    return False


def _is_reported(statement: Statement, match: re.Match[str]) -> bool:
    """Check whether the clause behind "that" is only said or thought, and is about what is asked for.

    :param statement: The sentence with the answer.
    :param match: The match of ``_COMPLEMENT``: the verb or noun of saying, and "that".
    :returns: Whether the clause only reports the answer.
    """
    if match["governor"] in FUNCTION_WORDS or _is_relative_clause(statement.sentence, match):
        return False
    if not _is_about_asked(statement, match) or _is_said_as_a_whole(statement, match):
        return False
    return not _is_vouched(statement, match)


def _is_relative_clause(sentence: str, match: re.Match[str]) -> bool:
    """Check whether the clause behind "that" describes the noun before "that", as in "The novel that he wrote".

    :param sentence: The sentence.
    :param match: The match of ``_COMPLEMENT`` in it.
    :returns: Whether nobody says the clause.
    """
    before = sentence[: match.start()]
    has_article = re.search(rf"\b{DETERMINER} $", before, re.IGNORECASE) is not None
    if not has_article:
        return False
    # In "It is a joke that the tent costs 120 euros" the clause is the joke.
    is_judged = _IT_IS.search(before) is not None
    return not is_judged and _WHOLE_CLAUSE.match(sentence[match.end() :]) is None


def _is_about_asked(statement: Statement, match: re.Match[str]) -> bool:
    """Check whether the clause behind "that", which ``match`` of ``_COMPLEMENT`` opens, is about what is asked for."""
    clause = statement.sentence[match.end() :]
    is_governed = statement.is_governed(match.end())
    if not is_governed:
        return statement.asks_most(CLAUSE_END.split(clause)[0])

    # "On the code Ivo says that it is 4417": what is asked for stands before the verb.
    begins_with_answer = len(statement.before) == match.end()
    if begins_with_answer or _OF_THAT.match(clause):
        return True
    # "Ann denies that in May, before the war, Ned mended the nets": the verb governs the words behind the commas too.
    return statement.asks_most(clause)


def _is_said_as_a_whole(statement: Statement, match: re.Match[str]) -> bool:
    """Check whether the answer is all that somebody says, and the question asks for it, as "What did Ann say?" does."""
    begins_with_answer = len(statement.before) == match.end()
    goes_on = bool(statement.after.strip(" .!\"'\u201d\u2019"))
    if not begins_with_answer or goes_on or not _ASKS_SAID.search(statement.question):
        return False
    speaker = statement.sentence[: match.start()]
    return statement.asks(speaker)


def _is_vouched(statement: Statement, match: re.Match[str]) -> bool:
    """Check whether a verb of saying raises no doubt, because the question has it or because it vouches for its clause.

    "The tests showed that" vouches for the clause. "They tried to show that" does not.
    """
    plain = match.groupdict().get("plain")
    verb = (plain or match["governor"]).split()[0]
    if verb in FUNCTION_WORDS or statement.asks(verb):
        return True

    up_to_verb = statement.sentence[: match.end()].removesuffix("that ").strip()
    if _NOTICE.match(up_to_verb):
        return True

    before_verb = statement.sentence[: match.start()]
    return _FACTIVE.fullmatch(verb) is not None and _UNREAL.search(before_verb) is None
