"""Find out from the words of a question what kind of answer the question asks for.

The reader uses these checks before it reads. Yes-or-no questions, questions for instructions and questions in other
languages are treated differently. All checks compare words and patterns. No model is used.
"""

import re

from prefrag.components.text.title_mentions import normalize_words

# Words that hint at the kind of answer. For each word, one feature for the trees says whether the question contains it.
ASKED_WORDS = (
    "who whom whose when where which what how year date day month century age old city town country nationality "
    "state county river island continent place born birthplace birth die died death buried father mother parent "
    "husband wife spouse child son daughter brother sister grandfather grandmother uncle director directed "
    "composer performer author wrote founder founded president king queen actor singer player band group team "
    "club company organization university school award prize film movie song album book show series magazine "
    "language name called title first last later earlier older younger longer larger more same both or between "
    "cause kind type many much long far percent number population work used because why"
)
_ASKED = ASKED_WORDS.split()
# The verbs with which a yes-or-no question may begin.
_VERBS = (
    "is are am was were do does did has have had can could should shall will would may might must isnt arent wasnt "
    "werent dont doesnt didnt hasnt havent hadnt cant couldnt wont"
)
_FIRST_VERBS = frozenset(_VERBS.split())
# A polite form of a question for something else than yes or no. "Can you tell me when it opened" asks for a time. It
# matches "Can you tell me when it opened". It does not match "Can whales sing?".
_POLITE = re.compile(
    r"\s*(?:can|could|will|would|do|may|might)\b.{0,20}\b(?:you|i|we|anybody|anyone|somebody|someone)\b"
    r".{0,40}\b(?:who|whom|whose|what|which|when|where|why|how)\b",
    re.I,
)
# The beginning of a request. It matches "Could you tell me the price?".
_REQUEST = re.compile(r"\W*(?:can|could|will|would)\s+you\b", re.I)
# The English question words. Nearly every English question contains a word from this list or the next list. Few
# questions in other languages do.
_ENGLISH_ASKS = frozenset({"how", "what", "when", "where", "which", "who", "whom", "whose", "why"})
# Frequent English words that few questions in other languages contain.
_ENGLISH_WORDS = (
    "all and any at be been both could did does during for from had has have is its many much not of or should than "
    "that the their there these they this those to used was were with would"
)
# A question for instructions. It matches "How do I reset it?" and "how to reset it". It does not match
# "How did he reset it?".
_HOW_TO = re.compile(r"\W*how (?:to|(?:do|can|could|should|would|must) (?:i|we|you|one))\b", re.I)
# A word of a comparison. It matches "Are both old?" and "older than".
_COMPARES = re.compile(r"\b(?:same|both|than|share|shared|common)\b", re.I)
# A word for countries or nationalities.
_COUNTRIES = re.compile(r"\b(?:countr(?:y|ies)|national\w*)\b", re.I)
_ENGLISH = frozenset(_ENGLISH_WORDS.split()) | _ENGLISH_ASKS
# The question words of other languages that are written in Latin letters.
_FOREIGN_QUESTION_WORDS = (
    "wer wessen wo wann warum wieso weshalb wie woher wohin welche welcher welches welchem welchen wieviel wieviele "
    "waar wanneer waarom welk welke hoeveel wiens qui que quoi quel quelle quels quelles quand ou "
    "pourquoi combien lequel laquelle quien quienes cual cuales cuando donde cuanto cuantos cuanta cuantas porque "
    "quale quali quando perche quanto quanti quante cosa quem qual quais onde quantos quantas vem vad nar varfor "
    "vilken vilket vilka hvem hvad hva hvor hvornar hvorfor hvordan hvilken hvilket hvilke kto gdzie kiedy "
    "dlaczego ktory ktora ktore czy ile kdo kde kdy ktery ktera kolik cine unde cand cati nerede hangi "
    "nasil neden siapa kapan dimana mengapa bagaimana kuka missa milloin miksi mikor miert"
)
_FOREIGN_ASKS = frozenset(_FOREIGN_QUESTION_WORDS.split())
# Question words in English and in other languages that are written in Latin letters.
INTERROGATIVES = _ENGLISH_ASKS | _FOREIGN_ASKS
# Frequent words of other languages that are written in Latin letters, without accents.
_FREQUENT_FOREIGN_WORDS = (
    "der die das dem den des ein eine einer eines ist sind wurde wurden waren hat haben und oder von vom zu zum zur "
    "mit im am auf fur nicht de het een en van zijn werd werden heeft hebben op bij le la les un une du est sont "
    "ete dans par sur avec el los las del es son fue una por para con il lo gli di della dei delle che sono stato "
    "nel da dos das os uma em foi sao ao det den ett av och ar som til er og et jest byl byla "
    "si je wat bir ve bu yang itu adalah nao mas"
)
_FOREIGN_WORDS = frozenset(_FREQUENT_FOREIGN_WORDS.split())
# An English question word among this many first words shows that the question is English.
_NEAR_THE_BEGINNING = 6
# Adjectives and adverbs that compare things.
_COMPARED = (
    "more|less|fewer|older|younger|longer|shorter|larger|smaller|bigger|higher|lower|taller|deeper|wider|earlier|later|"
    "sooner|heavier|lighter|faster|slower|newer|greater|richer|warmer|colder|better|worse"
)
# Words for documents.
_TEXTS = "documents?|sources?|passages?|files?|papers?|articles?|reports?|notes?|pages?|texts?"
# A question for something that no passage states, so that no span of a passage can be the answer.
_BEYOND_SPANS = re.compile(
    # A difference between two things, which are described in separate passages: "How many more people live in A than
    # in B?" and "the difference in height between A and B".
    rf"\bhow (?:many|much)(?: \w+)? (?:{_COMPARED})\b(?! than\b).*\bthan\b"
    r"|\bdifference in \w+(?: \w+)? between\b|\b(?:age|height|length|size|weight|price) difference between\b"
    # A comparison that does not name the things to choose from: "Which of the two ships is longer?".
    rf"|^\W*(?:which|who|what)(?: one)?(?: of (?:the|these|those|them|both)(?: two| three| four)?)?(?: \w+){{0,3}}"
    rf" (?:the )?(?:{_COMPARED})\W*$"
    # A count over the sources, or over several things at once: "How many papers mention Low?" and "How many ships did
    # both yards build altogether?".
    rf"|\bhow many of (?:the|these|those|my|our|your|all)(?: \w+)? (?:{_TEXTS})\b"
    r"|\bhow many of (?:them|these|those)\W*$"
    rf"|\bhow many (?:(?:{_TEXTS}) (?:mention|say|state|contain|name|refer|are there|do )\w*)"
    r"|\bhow many .*\b(?:altogether|combined|taken together)\W*$"
    # A task, whose result is a new text: "Please summarise the minutes".
    r"|^\W*(?:please |can you |could you )?(?:compare|contrast|list|summari[sz]e|translate|write|rewrite|draft)\b",
    re.I,
)

# The beginning of a question for a list or a number. Its group is the first word in the plural. It matches
# "Which contracts end in 2026?" and "Please list all boats".
_KIND_ASKED = re.compile(
    r"^\W*(?:please )?(?:which|what|how many|list|show)(?: me)?(?: all)?(?: of)?(?: (?:the|my|our|your))?"
    r" (?:\w+ ){0,2}?(\w{2,}s)\b",
    re.I,
)
# A sign that a question names a thing by another thing. It matches "mayor of Brae" and "Ann's son".
_OF = re.compile(r"\bof\b|'s\b|\u2019s\b", re.I)
# The question word, with up to one word before it. It matches "In which year was it?".
_ASKS = re.compile(r"^\W*(?:\w+\s+)?(?:who|whom|whose|which|what|when|where|how)\b", re.I)
# The beginning of a description of a thing: a relative clause or a participle. It matches "the school that trained" and
# "the bridge designed by".
_CLAUSE = re.compile(
    r"\s(?:that|which|who|whose|whom|where|(?:by|in|on|for|from|with|to|at|under|during) which"
    r"|(?:\w{2,}ed|born|built|given|held|known|led|made|run|sold|sung|taken|won|written)"
    r" (?:by|in|at|as|for|on|after|from|with))\b",
    re.I,
)


def asks_yes_no(question: str) -> bool:
    """Check whether a question in English asks for yes or no: it begins with a verb and does not contain "or".

    For example, ``asks_yes_no("Can whales sing?")`` returns ``True`` and ``asks_yes_no("Do you know who built it?")``
    returns ``False``.

    :param question: The question.
    :returns: Whether it asks for yes or no.
    """
    first_word, _, _ = normalize_words(question).partition(" ")
    offers_choice = " or " in question.lower()
    return first_word in _FIRST_VERBS and not offers_choice and _POLITE.match(question) is None


def asks_to_compare(question: str) -> bool:
    """Check whether a yes-or-no question compares two things in any respect except country or nationality.

    For example, ``asks_to_compare("Are both ships from the same yard?")`` returns ``True``.

    :param question: A yes-or-no question.
    :returns: Whether it compares two things.
    """
    return _COMPARES.search(question) is not None and _COUNTRIES.search(question) is None


def question_head(question: str) -> str:
    """Return what follows the question word, up to the first clause that describes something.

    For example,
    ``question_head("Who founded the school that trained the designer?")`` returns ``"founded the school"``. If no
    clause describes anything, everything after the question word is returned.

    :param question: The question.
    :returns: Its head, without blanks at the ends.
    """
    asks = _ASKS.match(question)
    begin = asks.end() if asks else 0
    for clause in _CLAUSE.finditer(question, begin):
        head = question[begin : clause.start()]
        if len(head.split()) > 1:
            return head.strip()
    return question[begin:].strip()


def has_description(question: str) -> bool:
    """Check whether a clause of a question describes something.

    For example, ``has_description("Who founded the school that trained X?")`` returns ``True``.

    :param question: The question.
    :returns: Whether the question goes on behind its head.
    """
    return not question.rstrip().endswith(question_head(question))


def identifies_by_another(question: str) -> bool:
    """Check whether a question may identify a thing by another thing, as in "X's son" or "the school that trained X".

    For example, ``identifies_by_another("Who is Ann's son?")`` returns ``True``.

    :param question: The question.
    :returns: Whether it has such a description, a possessive or the word "of".
    """
    return has_description(question) or _OF.search(question) is not None


def asks_how_to(question: str) -> bool:
    """Check whether a question asks how to do something, so that the answer is a series of steps.

    For example, ``asks_how_to("How do I reset the pump?")`` returns ``True``.

    :param question: The question.
    :returns: Whether it asks for steps.
    """
    return _HOW_TO.match(question) is not None


def asks_beyond_spans(question: str) -> bool:
    """Check whether a question asks for something that no passage states: a difference, a count or a new text.

    For example, ``asks_beyond_spans("How many papers mention Low?")`` returns ``True``. For
    "How many papers did Low publish?" it returns ``False``, because a passage may state this number.

    :param question: The question.
    :returns: Whether no span of a passage can be the answer.
    """
    return _BEYOND_SPANS.search(question) is not None


def kind_asked_for(question: str) -> str:
    """Return the word for the things of which an English question asks for a list or a number.

    For example, ``kind_asked_for("Which contracts end in 2026?")`` returns ``"contract"``. A verb may be mistaken for
    the word. So the caller has to check whether there are such things.

    :param question: The question.
    :returns: The word in the singular and in lower case; empty if there is none.
    """
    asked = _KIND_ASKED.match(question)
    if asked is None:
        return ""
    plural = asked[1].lower()
    return f"{plural[:-3]}y" if plural.endswith("ies") else plural[:-1]


def asks_for_more(question: str) -> bool:
    """Check whether a message asks for more than one fact.

    It does if it asks for yes or no in English, or for something that no passage states. "Could you tell me the price?"
    is a request and does not ask for yes or no.

    :param question: The message.
    :returns: Whether it asks for more than one fact.
    """
    asks_whether = looks_english(question) and asks_yes_no(question) and not _REQUEST.match(question)

    return asks_whether or asks_beyond_spans(question)


def looks_english(question: str) -> bool:
    """Check whether a question may be in English, the only language that the reader knows.

    For example, ``looks_english("Who directed La vie en rose?")`` returns ``True`` and
    ``looks_english("Wer sang 'Who Wants to Live Forever'?")`` returns ``False``.

    :param question: The question.
    :returns: Whether it may be in English; False if it has no letters.
    """
    if not _is_in_latin_letters(question):
        return False

    words = normalize_words(question).split()
    place = next((place for place, word in enumerate(words) if word in INTERROGATIVES), None)
    if place is not None:
        # The first question word decides, because names and titles in any language may follow it.
        question_word = words[place]
        is_near_beginning = place < _NEAR_THE_BEGINNING
        if is_near_beginning or question_word in _FOREIGN_ASKS:
            return question_word in _ENGLISH_ASKS

    english = sum(word in _ENGLISH for word in words)
    foreign = sum(word in _FOREIGN_WORDS for word in words)
    if words[0] in _FIRST_VERBS - _ENGLISH:
        english += 1
    return english > foreign and english >= len(words) // 10


def _is_in_latin_letters(text: str) -> bool:
    """Check whether at least 80% of the letters of a text are Latin. False if it has no letters."""
    letters = [sign for sign in text if sign.isalpha()]
    latin_letters = [sign for sign in letters if sign < "\u0250"]
    return bool(letters) and len(latin_letters) >= 0.8 * len(letters)


def asked_for(question: str) -> list[float]:
    """Compute the features of a question that hint at the kind of answer.

    :param question: The question.
    :returns: One number per feature, 1 or 0; :data:`ASKED_FEATURES` names them.
    """
    words = set(normalize_words(question).split())
    return [*(float(word in words) for word in _ASKED), float(asks_yes_no(question)), float("or" in words)]


# The names of these features, in the same order.
ASKED_FEATURES = (*(f"asks_{word}" for word in _ASKED), "form_yes_no", "form_choice")
