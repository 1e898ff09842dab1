"""Check whether a query was made from a person's question, or from a text that must not leave this machine.

Chat programs also send messages that no person wrote, such as a request to name a conversation, followed by its text.
Such messages are recognised by their form: a message that does not look like a question is not sent to the web. Of one
that does, only the question is sent, without the statements beside it.
"""

import re
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from itertools import pairwise

from prefrag.components.reader.question_form import INTERROGATIVES
from prefrag.components.state.state import State
from prefrag.components.text.sentences import plain_sentences, sentence_ends
from prefrag.components.text.term_statistics import QUESTION_WORDS, passage_text
from prefrag.components.text.title_mentions import normalize_words
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS
from prefrag.components.web.query_form import comparison_form
from prefrag.settings import settings

# The message as a whole, in the form of a query, if the person has seen and allowed it as a web query of this run.
allowed_query: ContextVar[str | None] = ContextVar("allowed_query", default=None)
NO_QUESTION = "the message holds a conversation or a text, not just a question; ask the question by itself"
NO_QUESTION_MARK = "under a system prompt only a question with its question mark is sent"

# If a query repeats this many words of a passage in a row, they count as copied. Fewer words may be a name.
COPIED_WORDS = 5
# The maximum number of words in a message: with a question mark; without one.
_MAX_WORDS, _MAX_UNMARKED = 100, 16
# The maximum number of words in all statements of a message: if it ends with a question mark; if it does not.
_MAX_CONTEXT, _MAX_ASIDE = 20, 12
# The maximum number of words in a statement after a colon, and in a greeting. Greetings do not count as statements.
_MAX_AFTER_COLON, _MAX_GREETING = 6, 3
# The fewest words of a question that stands beside a statement in its sentence.
_FEWEST = 2
# In scripts without spaces, two characters count as a word.
_WORD = re.compile(rf"[{UNSPACED_SCRIPTS}]{{1,2}}|[^\s{UNSPACED_SCRIPTS}]+")
_TOKEN = re.compile(rf"(?=([{UNSPACED_SCRIPTS}]{{2}}))[{UNSPACED_SCRIPTS}]|([^\s{UNSPACED_SCRIPTS}]+)")
_ASKS, _TELLS = re.compile(r"[?\uff1f؟⁇‽՞፧]"), (".", "!", "\u3002", "\uff01")
# Signs of a longer text: a code fence, a closing tag, tokens of chat templates, a JSON key, a long quotation.
_BLOCK = re.compile(
    r"`{3}|~{3}|\"{3}|</[^\W\d]|<\||\|>|\[/?INST\]|<</?SYS|[\"'][^\"'\n]{1,30}[\"']\s{0,9}:"
    r"|(?:(?<!\w)[“„「『\"\u2018](?=\w)|[«»]\s?)(?:(?:[^\s”»«」』\"\u2019]{1,80}\s{1,9}){7}|[^\s”»«」』\"\u2019]{16})"
)
_FIGURE = re.compile(r"\d")
_LABELS = re.compile(r"(?:^|[\s.?!])[^\W\d_]+[:\uff1a]\s.*[\s.?!][^\W\d_]+[:\uff1a]\s")
# Where a sentence ends, besides where `sentence_ends` finds it: at full stops of other scripts, without a blank, and
# before a lower-case letter. A stop behind a short word with a capital, such as "Jr.", ends nothing.
_STOPPED = re.compile(
    rf"{_ASKS.pattern}+[\"'\u201d\u2019\u00bb)\]」』\uff09]*|[।॥\u06d4።။។\u0589]|(?<=\w\w)[.!…](?=[^\W\d_a-zß-ÿ])"
    r"|(?:(?<=\w{5})|(?<=\s[^\WA-Z_]{3})|(?<=\s[^\WA-Z_]{4})|(?<=\d{3}))[.!…]+(?=\s)"
)
# A figure with a stop may end a sentence, or be an ordinal number. Before a word and a year it is the day of a date.
_ORDINAL, _NO_DATE = re.compile(r"(?<!\d)\d{1,2}\.$"), r"(?!\s+[^\W\d_]+\s+\d{4}\b)"
# Where a clause ends within a sentence: at any sign between blanks, but for those of names and sums.
_BETWEEN = re.compile(
    rf"[|¦—―•·;\uff1b\uff1a→⇒¿\t\n\r\v\f\x85\u2028\u2029]|:(?=\s)|\s\u2013|\u2013\s|(?<!\S)[^\w\s&+%,.$€£{_ASKS.pattern[1:-1]}]+(?!\S)"
    rf"|(?<=\d)\.(?=\s){_NO_DATE}"
)
# A comma, but none within a number or a date: there, the sides are no clauses.
_COMMA = re.compile(r"[,\u3001\uff0c\u060c](?:(?<!\d.)|(?!\s?\d))\s*")
# What stands beside a question with a figure in so many words is not yet a statement: "In 1945, who ...?"
_MAX_BESIDE = 2
# A figure that stands by itself, not as a part of a name: "U2", "4th".
_AMOUNT = re.compile(r"(?<![A-Za-z\d])(?!\d{1,2}[A-Za-z]{2}\b)\d")
# The words with which an English question begins and a statement does not. In other languages nothing is taken for one.
_ASKING = frozenset(
    ("who", "whom", "whose", "what", "which", "when", "where", "why", "how", "is", "are", "was", "were", "does", "did")
)
_SUBJECTS = frozenset(("i", "we", "you", "they", "the", "these", "those", "any", "all", "many", "most", "people"))
# The verbs that stand before their subject in other English questions, and such subjects.
_INVERTED = frozenset(("can", "could", "should", "would", "will", "may", "must", "shall", "has", "have", "do", "am"))
_INVERTED_SUBJECTS = _SUBJECTS | {"he", "she", "it", "there", "this", "that", "anyone", "someone", "everyone"}
# The question words with which a statement may begin, too: "When Ada leaves, ...", "Quando Ada parte, ...".
_SUBORDINATE = frozenset(
    normalize_words(
        "when where quand où quando cuando donde dove onde wanneer waar kiedy gdzie когда где коли де"
    ).split()
)
# The short words before a question word: "in which", "à qui", "zu wem".
_PREPOSITIONS = frozenset(
    normalize_words(
        "at by for from in of on to under with an auf aus bei mit nach seit von vor zu à de en pour avec a por con "
        "para di da per su em com до из на от"
    ).split()
)
# The question words of many languages, which stand near the beginning of a clause; and of those where they may stand
# anywhere in it, with what English ones stand within. A clause with none of them may be a statement.
_ASKING_WORDS = INTERROGATIVES | frozenset(
    normalize_words(
        "кто что где когда почему как какой какая какое какие каков сколько чей хто що де коли чому який яка скільки "
        "ποιος ποια ποιο τι πότε γιατί ما ماذا متى أين لماذا كيف كم هل מי מה מתי איפה למה איך כמה איזה"
    ).split()
)
_ASKING_ANYWHERE = re.compile(
    r"\b(?:what|(?:at|by|for|from|in|of|on|to|under|with) (?:which|whom?|whose))\b"
    r"|\b(?:whom?|whose|which|where|when)\W*\Z"
    "|[谁誰哪吗嗎]|什么|什麼|为何|為何|如何|几个|幾個|多少|怎|何[がをにでのも時人]|いつ|どこ|どの|なぜ|いくら|누구|무엇|언제|어디|왜|얼마|어떤|어떻게|कौन|क्या|कब|कहाँ|क्यों|कैसे|कितन|किस"
    "|ใคร|อะไร|ไหน|เมื่อไร|ทำไม|เท่าไร"
)
# A request without a question mark begins with one of these, in English or in German, whose nouns look like names.
_ASKING_FOR = frozenset(
    normalize_words(
        "name list describe define explain find give tell state show nenne liste beschreibe erkläre gib zeige sag"
    ).split()
)
# What begins a clause behind an English question that is no part of it: a full name or the first person. An "or" or
# an "and" joins things to choose from.
_TELLS_OF = re.compile(r"(?!.*\b(?i:or|and)\b)(?:(?:[^\W\d_a-z]\S*\s+){2}(?:.*\s)?[a-z]\S*\s|(?i:i|we|my|our)\b)")
# Words in brackets, quotation marks or signs of emphasis.
_INSERTED = re.compile(
    r"[(\[{<“„«「『【\uff08][^()\[\]{}<>“”„«»「」『』【】\uff08\uff09]*[)\]}>”»」』】\uff09]?|\"[^\"]*\"?"
    r"|(?<!\w)\*+(?=\w)[^*]*\*+|(?<!\w)_+(?=[^\W_])[^_]*_+(?!\w)|(?<!\w)~+(?=\w)[^~]*~+"
)
# The numbers of a list on one line.
_ITEMS = re.compile(r"(?<!\S)(?:#\d{1,2}|\(?\d{1,2}\))(?=\s)")
# Where a sentence without a stop may end: before a word with a capital, behind one without or a figure.
_RUN_ON = re.compile(r"(?<!\S)(?:[^\W\d_A-Z]\w*|\w*\d)\s+(?=([^\W\d_a-z]\w*)\s+[^\W\d_A-Z])")

# The characters that separate a speaker's name from the words spoken, in any language.
_SPEAKER = re.compile(r"[:\uff1a|\[\]<>{}]|[—\u2013]\s")
# Some tasks have the form of a question. They are recognised by these words, which ask for work on a text.
_WORK = re.compile(
    r"(?i)\W*(?:please\W+|bitte\W+|(?:can|could) you\W+)?(?:translat|summar[iy]|rephras|paraphras|rewrite|proofread"
    r"|shorten|übersetz|fasse?\b|formulier|tradui|résum|reformul|tradu[cz]|resum|riassu|przetł|streść|podsum|перевед"
    r"|çevir|özetle|vertaal|ترجم|لخص|अनुवाद)|.*(?:翻译|翻譯|总结|總結|翻訳|要約|번역|요약)"
)


def is_question(message: str, instructed: bool = False) -> bool:
    """Check whether a message looks like a person's question: one line, and hardly any statements.

    When in doubt, return False. ``instructed`` means that a system prompt came with the message. The prompt may define
    a task, such as a translation, and the message may be the text to work on, so it must have a question mark.
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    long = [line for line in lines if _count(line) > _MAX_GREETING]
    text = " ".join(lines)
    size, asks, ends = _count(text), _ASKS.search(text), _ASKS.search(text[-4:])
    # "When Ada leaves, we will ..." begins as a question does; what begins so is rarely a statement.
    begins = text.casefold().partition(" ")[0] in ("who", "what", "which", "how")
    most_words = _MAX_WORDS if asks else _MAX_CONTEXT if begins else _MAX_UNMARKED
    if _BLOCK.search(text) or _LABELS.search(text) or len(_ITEMS.findall(text)) > 1 or size > most_words:
        return False
    if len(lines) > 1 and (len(long) > 1 or _SPEAKER.search(text) or not all(map(_ASKS.search, long))):
        return False
    if _WORK.match(text) and (size > _MAX_ASIDE or len(lines) > 1 or _SPEAKER.search(text)):
        return False
    if instructed and not asks:
        return False
    behind = re.split(r"[:\uff1a]", text, maxsplit=1)[1:]
    said, most = (
        _words_stated(text),
        (2, _MAX_CONTEXT) if ends else (1, _MAX_ASIDE if asks or text.endswith(_TELLS) else size),
    )
    return len(said) <= most[0] and sum(said) <= most[1] and max(_words_stated(*behind), default=0) <= _MAX_AFTER_COLON


def split_question(message: str) -> tuple[str, list[str]]:
    """Separate the question in a message from its statements.

    A sentence without a question mark beside one with it is a statement. So is a clause of more than a few words, if
    another clause stands beside it in the same sentence: the form does not tell which of the two is asked, unless the
    last one alone begins as a question does. If not one clause is left that may be the question, the whole sentence
    counts as a statement. With a figure, three words between commas are a statement too. With a figure or a name, so
    are more than three words between commas, with a question mark of their own or with a stop and alone, and more than
    six alone without a stop, unless they begin like a question.

    :param message: What a person wrote.
    :returns: The question, unchanged if there is no statement, and empty if nothing else is left; and the statements.
    """
    statements = [text for text in _INSERTED.findall(message) if _is_long(text, _MAX_AFTER_COLON, _MAX_GREETING)]
    rest = _INSERTED.sub(lambda match: "" if match[0] in statements else match[0], message)
    # A line may break within a sentence: there only a clause ends.
    ends = [(end, after) for end, after, kind in sentence_ends(rest) if kind == "sentence"]
    places = {0, len(rest), *(after for end, after in ends if not _ORDINAL.search(rest, max(0, end - 4), end))}
    places.update(match.end() for match in _STOPPED.finditer(rest))
    places.update(
        sign.end()
        for sign in _RUN_ON.finditer(rest)
        if _may_ask(sign[1]) and _ends_statement(rest[max(p for p in places if p <= sign.start()) : sign.end()])
    )
    sentences = [rest[start:end].strip() for start, end in pairwise(sorted(places))]
    if not _ASKS.search(rest):
        clauses = [clause for sentence in sentences for clause in _clauses(sentence)]
        is_mixed = len(clauses) > 1 and any(_count(clause) > _MAX_AFTER_COLON for clause in clauses)
        is_ended = rest.rstrip().endswith(_TELLS)
        tells = (is_ended and _tells_figure(rest, _MAX_GREETING)) or (
            _tells_name(rest, _MAX_GREETING if is_ended else _MAX_AFTER_COLON) and not _may_ask(rest)
        )
        return ("", [message]) if is_mixed or tells or statements else (message, [])
    asked: list[str] = []
    marked = [sentence for sentence in sentences if _ASKS.search(sentence[-4:])]
    for sentence in filter(None, sentences):
        *before, last = _clauses(sentence) or [sentence]
        told = [clause for clause in before if _is_long(clause, _MAX_GREETING, 1)]
        if before and not (_opens(sentence, last) and all(_count(clause) <= _MAX_GREETING for clause in before)):
            # Behind a statement, two words with a figure may be its end: a stop behind a figure ends it too early.
            most = _MAX_BESIDE if told and not _may_ask(last) else _MAX_GREETING
            told += [last] if _is_long(last, _MAX_GREETING, most) else []
        if last in told and _is_asked(last) and not any(map(_may_ask, before)):
            # What precedes may be a lead-in, such as "Quick question:", but also a short statement.
            told = before
        *above, line = sentence.splitlines() or [sentence]
        if above and all(map(_is_heading, above)) and len(_clauses(line)) == 1:
            # A name or a greeting on a line of its own is no part of the question below it.
            before, told, last = above, above, line
        if sentence not in marked or (len(marked) > 1 and _tells_beside(sentence)):
            statements.append(sentence)
        else:
            questions = [clause for clause in (*before, last) if clause not in told] if told else [sentence]
            # Several short clauses, or a single word, are the rest of a question that was cut in two.
            if told and (len(questions) > 1 or _count(" ".join(questions)) < _FEWEST):
                questions, told = [], [sentence]
            for clause in questions:
                remainder, beside = _split_commas(clause)
                asked.append(remainder)
                told = told + beside
            statements += told
    question = " ".join(asked) if statements else message
    return question if any(map(str.isalnum, question)) else "", statements


def _clauses(sentence: str) -> list[str]:
    places = [0, len(sentence)]
    for sign in _BETWEEN.finditer(sentence):
        if not _is_in_title(sentence[: sign.start()], sentence[sign.end() :]):
            places[-1:-1] = sign.span()
    parts = (sentence[start:end].strip() for start, end in zip(places[::2], places[1::2], strict=True))
    return [part for part in parts if any(map(str.isalnum, part))]


def _opens(sentence: str, clause: str) -> bool:
    """Check whether a clause is what a sentence asks between its two question marks, as Spanish writes them."""
    return _may_ask(clause) and "¿" in sentence and sentence.rpartition("¿")[2].strip() == clause


def _ends_statement(text: str) -> bool:
    return _count(text) > _MAX_GREETING and not _may_ask(text)


def _split_commas(clause: str) -> tuple[str, list[str]]:
    """Separate the parts of a clause, between commas, that tell a figure or something of a name, from the others."""
    parts = _COMMA.split(clause)
    beside = [part for part in parts if len(parts) > 1 and _tells_figure(part, _MAX_BESIDE)]
    if _begins_question(clause):
        told = [part for part in parts[1:] if _TELLS_OF.match(part) and _tells_beside(part)]
        beside = [part for part in parts if part in told or (part in beside and not _is_named(part))]
    elif len(parts) > 1:
        beside = [part for part in parts if part in beside or _tells_beside(part)]
    if len(beside) == len(parts) > 1:
        # No part begins like a question: then one that holds a question word and no figure is asked.
        beside = [part for part in parts if _AMOUNT.search(part) or not _ASKING_ANYWHERE.search(part)]
    remainder = ", ".join(part for part in parts if part not in beside) if beside else clause
    return (remainder, beside) if not beside or _count(remainder) >= _FEWEST else ("", [clause])


def _is_heading(line: str) -> bool:
    return _count(line) <= _MAX_GREETING and not line[:1].islower() and not _begins_question(line)


def _is_named(text: str) -> bool:
    """Check whether a text consists of capitalised words, such as titles, with at most a word between them."""
    letters = [word[0] for word in text.split() if word[0].isalpha()]
    return sum(map(str.isupper, letters)) >= 3 and sum(map(str.islower, letters)) <= 1


def _is_in_title(before: str, behind: str) -> bool:
    """Check whether a sign stands in a title, in a question: "Who directed Mad Max: Fury Road?"."""
    words = [word for word in before.split() if not word.isdecimal()]
    title = [*words[-1:], *behind.split()[:2]]
    return len(words) > 1 and len(title) > 1 and _begins_question(before) and all(word[0].isupper() for word in title)


def _begins_question(text: str) -> bool:
    first, second = (*text.casefold().split(maxsplit=2), "", "")[:2]
    # "Do" is a preposition in Polish, and a verb in Italian ("do a ...").
    return first in _ASKING or (first == "do" and second in _SUBJECTS)


def _tells_figure(text: str, most: int) -> bool:
    """Check whether a text has a figure outside brackets, and over ``most`` words, and begins unlike a question."""
    return bool(_AMOUNT.search(_INSERTED.sub("", text))) and _count(text) > most and not _begins_question(text)


def _tells_beside(text: str) -> bool:
    """Tell whether a text beside a question is a statement: it has a figure or a name, and begins unlike a question."""
    return _tells_figure(text, _MAX_GREETING) or (_tells_name(text, _MAX_GREETING) and not _may_ask(text))


def _tells_name(text: str, most: int) -> bool:
    """Check whether a text has over ``most`` words, and behind the first one a name, or letters that have no case."""
    has_name = any(word[:1].isalpha() and not word[0].islower() for word in text.split()[1:] or [text])
    return _count(text) > most and (has_name or bool(_AMOUNT.search(text)))


def _may_ask(text: str) -> bool:
    """Check whether a text has one of its first two words, or anywhere in some scripts, from a list of question words.

    In a language that is not listed nothing asks, so a statement is never taken for a question.
    """
    first, second = (*normalize_words(text).removeprefix("please ").split(maxsplit=2), "", "")[:2]
    if first in _ASKING_FOR or not _ASKING_WORDS.isdisjoint((first, second)):
        return True
    return _begins_question(text) or _ASKING_ANYWHERE.search(text) is not None


def _is_asked(clause: str) -> bool:
    """Check whether a clause is a question by its first words: a question word, or an English verb and its subject.

    Stricter than :func:`_may_ask`: it decides that a clause may leave, and not only which of two does.
    """
    first, second = (*normalize_words(clause).split(maxsplit=2), "", "")[:2]
    anywhere = _ASKING_ANYWHERE.search(clause)
    # Behind a comma, a statement may stand.
    if len(_COMMA.split(clause)) > 1 or (first in _SUBORDINATE and second not in _INVERTED | _ASKING):
        return False
    return (
        first in _ASKING
        or first in _ASKING_WORDS
        or (first in _PREPOSITIONS and second in _ASKING_WORDS)
        or (first in _INVERTED and second in _INVERTED_SUBJECTS)
        # Where words are not separated, the first cannot be told.
        or (anywhere is not None and not anywhere[0].isascii())
    )


def _is_long(text: str, most: int, most_with_figure: int) -> bool:
    return _count(text) > (most_with_figure if _FIGURE.search(text) else most)


def web_query(query: str, state: State) -> tuple[str, list[str]]:
    """Leave the statements out of each of the person's messages that a query holds as a whole.

    :param query: The query, as it was made.
    :param state: The state of the run.
    :returns: The query to send, and the statements that were left out.
    """
    left_out: list[str] = []
    said = (state.typed, state.question, *(text for role, text in state.history if role == "user"))
    for message in filter(None, dict.fromkeys(said)):
        asked, statements = split_question(message)
        for written in {message.strip(), " ".join(message.split())}:
            if asked and statements and written in query:
                query, left_out = query.replace(written, asked), left_out + statements
    return query, left_out


def reason_to_withhold(query: str, state: State) -> str:
    """Return why a query must not leave this machine; empty if it was made from a person's question and may leave."""
    message, external, instructions = (
        state.typed or state.question,
        state.settings.external,
        state.settings.instructions,
    )
    # What the person has allowed is no text of others, but it may still hold a copy of a passage.
    is_allowed = query == allowed_query.get()
    asked, stated = split_question(message)
    if not is_allowed and (not asked or not is_question(message, bool(instructions))):
        return NO_QUESTION_MARK if instructions and not _ASKS.search(message) else NO_QUESTION
    if any(map(_WORK.match, plain_sentences(instructions))):
        return "the system prompt asks for work on the message, which may then be a text"
    own, brought = [asked], [instructions, *stated, *map(passage_text, state.attached)]
    for role, text in state.history:
        question, statements = (
            split_question(text) if role == "user" and is_question(text, bool(instructions)) else ("", [text])
        )
        own.append(question)
        brought += statements
    words = _content_words([query]) or set(_split(query))
    # In some languages a word changes with its place in a sentence, so look for a part of a word in a statement.
    told = _glue(stated)
    borrowed = {word for word in words if word in told} | (words & _content_words(brought))
    borrowed -= _content_words(own)
    if (words & _names([instructions])) - _content_words(own):
        return "it has a name or a number that stands in the system prompt and not in your question"
    # If rules rewrote the question, they only inserted names. A borrowed word is then a name from an earlier answer, so
    # none is allowed. If a model wrote the query, it chose its own words, so up to half of them may be borrowed.
    by_rules = state.typed and "rewriter" not in state.usage.llm_calls
    if not is_allowed and (2 * len(borrowed) > len(words) or (by_rules and borrowed)):
        return (
            "some of its words come from an earlier answer or a text, not from you: say in your question what to find"
        )
    # Skip the current step: its results were not known yet when the query was written.
    read = [search for step in state.steps[:-1] for search in step.searches if search.source not in external]
    passages = [
        document.content or ""
        for document in (*(document for search in read for document in search.documents), *state.attached)
    ]
    named = words & _names(passages) - _content_words(own)
    if settings.web_hold_names and not is_allowed and 2 * len(named) > len(words):
        return "most of its words are names and numbers from passages (PREFRAG_WEB_HOLD_NAMES=on)"
    passages += [] if is_allowed else stated
    if _copies(query, passages, own):
        return f"it repeats {COPIED_WORDS} words or more from a passage of your own documents"
    return ""


def _words_stated(text: str = "") -> list[int]:
    """Count the words of each statement: each sentence that is neither a question nor a greeting."""
    places = [0, *(after for _, after, _ in sentence_ends(text)), len(text)]
    sentences = (text[start:end].strip() for start, end in pairwise(places))
    counts = [_count(sentence) for sentence in sentences if not _ASKS.search(sentence[-4:])]
    return [words for words in counts if words > _MAX_GREETING]


def _count(text: str) -> int:
    return len(_WORD.findall(text))


def _split(text: str) -> list[str]:
    """Split a text into words to compare, or into pairs of characters in scripts without spaces."""
    return [pair or word for pair, word in _TOKEN.findall(comparison_form(text))]


def _content_words(texts: Iterable[str]) -> set[str]:
    words = {word for text in texts for word in _split(text)} - QUESTION_WORDS
    return {word for word in words if len(word) > 3 or not word.isalpha() or word[0] >= "\u0e00"}


def _names(texts: Iterable[str]) -> set[str]:
    """Collect the words that may be names or numbers: all that do not begin with a lower-case letter."""
    return _content_words(word for text in texts for word in text.split() if not _lowered(word))


def _lowered(word: str) -> bool:
    return any(sign.islower() for sign in word.lstrip("\"'([{<*_“„«")[:1]) and not _FIGURE.search(word)


def _copies(query: str, passages: Iterable[str], own: Sequence[str]) -> bool:
    """Check whether a query has words of a passage in a row, also glued together or apart, that the person has not."""
    sequences = _word_sequences(passages) - _word_sequences(own)
    glued, own_glued = _glue([query]), _glue(own)
    glued_sequences = (words.replace(" ", "") for words in sequences)
    copied = any(words in glued and words not in own_glued for words in glued_sequences)
    return copied or bool(sequences & _word_sequences([query]))


def _glue(texts: Iterable[str]) -> str:
    return " ".join(comparison_form(text).replace(" ", "") for text in texts)


def _word_sequences(texts: Iterable[str]) -> set[str]:
    parts = (_split(text) for text in texts)
    return {" ".join(words[at : at + COPIED_WORDS]) for words in parts for at in range(len(words) - COPIED_WORDS + 1)}
