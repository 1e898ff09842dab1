"""Find the question in a message, and tell whether a message is a question at all.

Chat programs also send messages that no person wrote, for example a whole conversation with the request to find a title
for it. Nothing in a message says who wrote it, so this module decides by the form of the text: its signs, words and
lengths. In doubt, a text counts as private.

The module uses these words:

- A message is what the person, or the chat program, wrote. The question is the part of the message that asks.
- A statement is any other sentence, clause or remark in brackets. It may be private, so it is never sent to the web.
- A clause is a part of a sentence between signs such as a colon, a dash or a line break.

:func:`is_question` checks a whole message. :func:`split_question` separates its question from its statements.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

from prefrag.components.reader.question_form import INTERROGATIVES
from prefrag.components.text.sentences import sentence_ends
from prefrag.components.text.title_mentions import normalize_words
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS

# All limits below are numbers of words as `_count` counts them: in scripts without spaces, two characters are a word.

# A message with a question mark may have at most this many words. A longer message counts as a text.
_MAX_WORDS = 100
# The same for a message without a question mark, unless it begins with "who", "what", "which" or "how".
_MAX_WITHOUT_MARK = 16
# All statements of a message that ends with a question mark may have at most this many words together. A message
# without a question mark may also have at most this many words if it begins with "who", "what", "which" or "how".
_MAX_CONTEXT = 20
# The same limit for a message whose question mark is not at its end, and for a message without a question mark that
# ends with a full stop or an exclamation mark. A request for work on a text may have at most this many words, too.
_MAX_ASIDE = 12
# Each statement behind the first colon of a message may have at most this many words. A longer remark in brackets is a
# statement. A message without a question mark is a statement in two cases: if one of its several clauses is longer, or
# if the whole message is longer and has a name.
_MAX_AFTER_COLON = 6
# A sentence or clause of at most this many words counts as a greeting, such as "Good morning!", and not as a statement.
_MAX_GREETING = 3
# A question that was cut out of its sentence must have at least this many words. A single word asks nothing.
_MIN_QUESTION = 2

# One word. In scripts without spaces, each two characters are a word: "Who built 船舶造?" has 5 words, because "船舶",
# "造" and "?" count as words.
_WORD = re.compile(rf"[{UNSPACED_SCRIPTS}]{{1,2}}|[^\s{UNSPACED_SCRIPTS}]+")
# A question mark of any script: Latin, wide, Arabic, doubled, joined with an exclamation mark, Armenian, Ethiopic.
# Matches: "Who?". Does not match: "Who."
QUESTION_MARK = re.compile(r"[?\uff1f؟⁇‽՞፧]")
# The full stops and exclamation marks, narrow and wide, at the end of a message.
_FULL_STOPS = (".", "!", "\u3002", "\uff01")

# A sign of a longer text, which no short question has. The alternatives are:
# - a code fence of three backticks, tildes or quotation marks
# - a closing tag: "</chat>"
# - a token of a chat template: "<|im_start|>", "[INST]", "<<SYS>>"
# - a key of JSON: '"role": "user"'
# - a quotation of eight words or more, or of 16 characters without a blank: "“the yard was sold to the house of Quill”"
# Does not match: "<chat>", "“I shall return”".
_TEXT_SIGN = re.compile(
    r"`{3}|~{3}|\"{3}|</[^\W\d]|<\||\|>|\[/?INST\]|<</?SYS|[\"'][^\"'\n]{1,30}[\"']\s{0,9}:"
    r"|(?:(?<!\w)[“„「『\"\u2018](?=\w)|[«»]\s?)(?:(?:[^\s”»«」』\"\u2019]{1,80}\s{1,9}){7}|[^\s”»«」』\"\u2019]{16})"
)
# A digit of any script.
_DIGIT = re.compile(r"\d")
# Two labels of one word with a colon and a blank, as in a conversation on one line.
# Matches: "User: When? Bot: In May.", "Q1: When? A1: In May." Does not match: "Who is right: Ada?"
_TWO_LABELS = re.compile(r"(?:^|[\s.?!])[^\W\d_]+\d{0,3}[:\uff1a]\s.*[\s.?!][^\W\d_]+\d{0,3}[:\uff1a]\s")
# Where a sentence ends, in addition to the places that `sentence_ends` finds. A stop behind a short word with a capital
# ends nothing, because the word may be an abbreviation, such as "Jr.". The alternatives are:
# - a question mark, with the quotation marks and brackets behind it: 'paid?"' in 'Who paid?" she'
# - a full stop of Hindi, Urdu, Ethiopic, Burmese or Armenian: "।"
# - a stop without a blank, before a letter that is not lower-case: "41 million.Who paid"
# - a stop between a word of five letters or more and a blank: "the new owners. who paid"
# - a stop between a word of three or four letters without a capital and a blank: "the yard was sold. who paid"
# - a stop between three digits and a blank: "sold in 1974. who paid"
# Does not match: "King Jr. win", "python.org", "sold by Ada. who paid".
_OTHER_STOP = re.compile(
    rf"{QUESTION_MARK.pattern}+[\"'\u201d\u2019\u00bb)\]」』\uff09]*|[।॥\u06d4።။។\u0589]|(?<=\w\w)[.!…](?=[^\W\d_a-zß-ÿ])"
    r"|(?:(?<=\w{5})|(?<=\s[^\WA-Z_]{3})|(?<=\s[^\WA-Z_]{4})|(?<=\d{3}))[.!…]+(?=\s)"
)
# A number of one or two digits with a stop, at the end. The stop may end a sentence ("sold for 62."), or make an
# ordinal number ("am 9."). Does not match: "in 1974."
_ORDINAL = re.compile(r"(?<!\d)\d{1,2}\.$")
# Refuses the place behind a stop if a word and a year follow, because the number before it is then the day of a date:
# " Juni 1974".
_NOT_IN_DATE = r"(?!\s+[^\W\d_]+\s+\d{4}\b)"
# Where a clause ends within a sentence. The alternatives are:
# - a sign that separates, such as "|", "—", ";" or a line break, also without blanks: "Boat 1974 | Who paid?"
# - a colon before a blank: "Question: who paid?", but not "10:30"
# - a short dash with a blank beside it: "Quill \u2013 or Ostermoor"
# - any other signs between two blanks: "water - is it safe". The signs of names and sums stay: "R&B + C++", "$ 5".
# - a stop behind a digit, unless the number is the day of a date: "sold for 62. who", but not "am 9. Juni 1974"
_CLAUSE_END = re.compile(
    rf"[|¦—―•·;\uff1b\uff1a→⇒¿\t\n\r\v\f\x85\u2028\u2029]|:(?=\s)|\s\u2013|\u2013\s|(?<!\S)[^\w\s&+%,.$€£{QUESTION_MARK.pattern[1:-1]}]+(?!\S)"
    rf"|(?<=\d)\.(?=\s){_NOT_IN_DATE}"
)
# A comma with the blanks behind it. A comma between two numbers is left out, because its sides are no clauses.
# Matches: "In 1945, who paid". Does not match: "1,200 euros", "May 9, 1974".
_COMMA = re.compile(r"[,\u3001\uff0c\u060c](?:(?<!\d.)|(?!\s?\d))\s*")
# A part of a sentence that holds a number is no statement if it has at most this many words. For example, "In 1945" in
# "In 1945, who paid?" belongs to the question.
_MAX_WITH_NUMBER = 2
# The first digit of a number that stands by itself and is no part of a name or an ordinal.
# Matches: "in 1974", "41M". Does not match: "U2", "4th".
_NUMBER = re.compile(r"(?<![A-Za-z\d])(?!\d{1,2}[A-Za-z]{2}\b)\d")

# The verbs among the next constant's words.
_VERBS = frozenset(("is", "are", "was", "were", "does", "did"))
# The first words of English questions that do not begin statements. There is no such list for other languages.
_FIRST_WORDS = frozenset(
    ("who", "whom", "whose", "what", "which", "when", "where", "why", "how", "is", "are", "was", "were", "does", "did")
)
# The subjects that make a question of a first word "do": "Do you sail?", "Do the boats sail?".
_SUBJECTS = frozenset(("i", "we", "you", "they", "the", "these", "those", "any", "all", "many", "most", "people"))
# The verbs that stand before their subject in the other English questions: "Can we swim there?".
_INVERTED = frozenset(("can", "could", "should", "would", "will", "may", "must", "shall", "has", "have", "do", "am"))
# The subjects that may stand behind such a verb. A name is not in the list, so "Will Ada pay?" does not count.
_INVERTED_SUBJECTS = _SUBJECTS | {"he", "she", "it", "there", "this", "that", "anyone", "someone", "everyone"}
# The question words with which a statement may begin, too: "When Ada leaves, ...", "Quando Ada parte, ...".
_SUBORDINATE = frozenset(
    normalize_words(
        "when where quand où quando cuando donde dove onde wanneer waar kiedy gdzie когда где коли де"
    ).split()
)
# The short words that may stand before a question word: "in which", "à qui", "zu wem".
_PREPOSITIONS = frozenset(
    normalize_words(
        "at by for from in of on to under with an auf aus bei mit nach seit von vor zu à de en pour avec a por con "
        "para di da per su em com до из на от according laut gemäß selon según secondo segundo volgens enligt według"
    ).split()
)
# The words between things to choose from: "Ada or Ben".
_CONJUNCTIONS = frozenset(normalize_words("and or und oder et ou y o e lub czy en of и или").split())
# The small words that are no verbs. Most of them may begin the name of a thing, such as "the Berlin wall".
_NO_VERBS = (
    _PREPOSITIONS
    | _CONJUNCTIONS
    | frozenset(
        normalize_words(
            "the as than der die das den dem als le la les un une el los las il lo gli i um uma het een"
        ).split()
    )
)
# The first words of English phrases that belong to the question behind them: "Despite the war, who ...?"
_BEFORE_CLAUSE = frozenset(
    normalize_words(
        "according after although as because before besides compared despite during following given if once since "
        "unless unlike until when whereas while within without"
    ).split()
)
# The question words of many languages that stand first or second in a question. If a clause has none of them there,
# and none of the next constant's either, the clause may be a statement.
_EARLY_WORDS = INTERROGATIVES | frozenset(
    normalize_words(
        "кто что где когда почему как какой какая какое какие каков сколько чей хто що де коли чому який яка скільки "
        "ποιος ποια ποιο τι πότε γιατί ما ماذا متى أين لماذا كيف كم هل מי מה מתי איפה למה איך כמה איזה"
    ).split()
)
# The question words that may stand anywhere in a clause. The alternatives are:
# - English "what", and a preposition with "which", "who", "whom" or "whose": "the year in which Ada died"
# - an English question word at the end: "Doctor Who appeared when?"
# - question words of Chinese, Japanese, Korean, Hindi and Thai: "秘鲁有多少人"
# Does not match: "the boat which Ada built".
_WORDS_ANYWHERE = re.compile(
    r"\b(?:what|(?:at|by|for|from|in|of|on|to|under|with) (?:which|whom?|whose))\b"
    r"|\b(?:whom?|whose|which|where|when)\W*\Z"
    "|[谁誰哪吗嗎]|什么|什麼|为何|為何|如何|几个|幾個|多少|怎|何[がをにでのも時时人]|いつ|どこ|どの|なぜ|いくら|누구|무엇|언제|어디|왜|얼마|어떤|어떻게|कौन|क्या|कब|कहाँ|क्यों|कैसे|कितन|किस"
    "|ใคร|อะไร|ไหน|เมื่อไร|ทำไม|เท่าไร"
)
# The first words of requests without a question mark, in English and German. In German these requests have nouns with
# a capital letter, which look like names: "Nenne mir die Planeten".
_REQUEST_VERBS = frozenset(
    normalize_words(
        "name list describe define explain find give tell state show nenne liste beschreibe erkläre gib zeige sag"
    ).split()
)
# A part behind a comma that says something about a person and is no part of the English question before it. The
# alternatives are:
# - two capitalised words, such as a full name, with a lower-case word behind them: "Ilse Quandt is leaving Varnholt"
# - the first person: "our rent is high"
# A part with "or" or "and" names things to choose from. Does not match: "Ada Grey of Kent or Ben Stone".
_ABOUT_PERSON = re.compile(r"(?!.*\b(?i:or|and)\b)(?:(?:[^\W\d_a-z]\S*\s+){2}(?:.*\s)?[a-z]\S*\s|(?i:i|we|my|our)\b)")
# Words in brackets, in quotation marks, or between signs of emphasis (stars, underscores, tildes). The second bracket
# or quotation mark may be missing.
# Matches: "(sold in May)", "“I shall return", "*very old*", "_old_". Does not match: "3 * 4 * 5", "snake_case_name".
_REMARK = re.compile(
    r"[(\[{<“„«「『【\uff08][^()\[\]{}<>“”„«»「」『』【】\uff08\uff09]*[)\]}>”»」』】\uff09]?|\"[^\"]*\"?"
    r"|(?<!\w)\*+(?=\w)[^*]*\*+|(?<!\w)_+(?=[^\W_])[^_]*_+(?!\w)|(?<!\w)~+(?=\w)[^~]*~+"
)
# What says a place or a time in a script without spaces: 在 at the beginning, に or で at the end, also with は.
_ADVERBIAL = re.compile(r"^在|[にで]は?$")
# A sentence of more characters is a text, in which no sign is looked at as a part of a title.
_LONGEST_WITH_TITLES = 2_000
# How much of the text before and behind a stop or a word is looked at, to find out whether it asks.
_QUESTION_CHARACTERS = 200
# The signs at the beginning and the end of a remark.
_REMARK_SIGNS = re.compile(r"^[^\w]+|[^\w]+$")
# The number of an item in a list on one line.
# Matches: "#1 sold in May", "2) who paid", "(2) who paid". Does not match: "1. sold in May", "C#1".
_ITEM_NUMBER = re.compile(r"(?<!\S)(?:#\d{1,2}|\(?\d{1,2}\))(?=\s)")
# Where a sentence without a full stop may end: behind a number or a lower-case word. A capitalised word (group 1) and a
# lower-case word must follow. Matches: "for 41 million What is it". Does not match: "Doctor Who appeared".
_RUN_ON = re.compile(r"(?<!\S)(?:[^\W\d_A-Z]\w*|\w*\d)\s+(?=([^\W\d_a-z]\w*)\s+[^\W\d_A-Z])")
# Where a sentence with a question in it may be cut before the question. A stop or a word such as "so" stands there.
# Matches: "Ada leaves ... who pays", "Ada leaves, so who pays", "Ada geht und wer zahlt".
_BEFORE_QUESTION = re.compile(
    r"(?:[.!…]+|(?<=\s)(?:and|so|but|also|und|aber|et|y|e|ma|mas|dus|maar))\s+(?=\w)", re.IGNORECASE
)
# A sign that may separate a speaker's name from what the speaker says, in any language.
# Matches: "Ada: hello", "[Ada] hello", "Ada — hello". Does not match: "Ada - hello".
_SPEAKER = re.compile(r"[:\uff1a|\[\]<>{}]|[—\u2013]\s")
# A request for work on a text, which may have the form of a question. Most languages have such a verb at the
# beginning. Chinese, Japanese and Korean may have it anywhere.
# Matches: "Please summarise this", "Can you translate", "请总结". Does not match: "Who translated alpha", "Fassade".
TASK_ON_TEXT = re.compile(
    r"(?i)\W*(?:please\W+|bitte\W+|(?:can|could) you\W+)?(?:translat|summar[iy]|rephras|paraphras|rewrite|proofread"
    r"|shorten|übersetz|fasse?\b|formulier|tradui|résum|reformul|tradu[cz]|resum|riassu|przetł|streść|podsum|перевед"
    r"|çevir|özetle|vertaal|ترجم|لخص|अनुवाद)|.*(?:翻译|翻譯|总结|總結|翻訳|要約|번역|요약)"
)


def is_question(message: str, instructed: bool = False) -> bool:
    """Check whether a message looks like a person's question: one line, and hardly any statements.

    In doubt, the result is False. For example, ``is_question("I sail a boat of 1974. Who built it?")`` returns
    ``True``, and ``is_question("User: When? Bot: In May.")`` returns ``False``. Keywords count as a question, so
    ``is_question("alpha builder")`` returns ``True``.

    :param message: The text of the person or the chat program. It may have several lines.
    :param instructed: Whether a system prompt came with the message. A system prompt may define a task, such as a
        translation, and the message may be the text to translate. So the message must then have a question mark.
    :returns: True if the message looks like a question, which may have a few statements beside it.
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    text = " ".join(lines)
    has_mark = QUESTION_MARK.search(text) is not None
    if instructed and not has_mark:
        return False
    if _is_longer_text(text, has_mark) or _is_text_of_lines(lines) or _is_task(lines):
        return False
    return not _states_too_much(text, has_mark)


def _is_longer_text(text: str, has_mark: bool) -> bool:
    """Check whether a message has too many words for a question, or the form of a longer text: code, labels or a list.

    :param text: The message on one line.
    :param has_mark: Whether it has a question mark.
    :returns: Whether the message is a text rather than a question.
    """
    first_word, _, _ = text.casefold().partition(" ")
    if has_mark:
        most_words = _MAX_WORDS
    elif first_word in ("who", "what", "which", "how"):
        # "When" is not in the list, because "When Ada leaves, we will ..." is a statement.
        most_words = _MAX_CONTEXT
    else:
        most_words = _MAX_WITHOUT_MARK

    if _count(text) > most_words:
        return True
    is_list = len(_ITEM_NUMBER.findall(text)) > 1
    return is_list or _TEXT_SIGN.search(text) is not None or _TWO_LABELS.search(text) is not None


def _is_text_of_lines(lines: Sequence[str]) -> bool:
    """Check whether a message of several lines is a text, such as a conversation.

    It is none if only one line is longer than a greeting, this line asks, and no line may have a speaker's name.
    """
    if len(lines) < 2:
        return False
    long_lines = [line for line in lines if _count(line) > _MAX_GREETING]
    all_ask = all(map(QUESTION_MARK.search, long_lines))
    return len(long_lines) > 1 or not all_ask or _has_speaker(lines)


def _is_task(lines: Sequence[str]) -> bool:
    """Check whether a message requests work on a text, such as "Summarise", and may have the text with it."""
    text = " ".join(lines)
    if not TASK_ON_TEXT.match(text):
        return False
    return _count(text) > _MAX_ASIDE or len(lines) > 1 or _has_speaker(lines)


def _has_speaker(lines: Sequence[str]) -> bool:
    """Check whether a message has a sign that may separate a speaker's name from what the speaker says."""
    return _SPEAKER.search(" ".join(lines)) is not None


def _states_too_much(text: str, has_mark: bool) -> bool:
    """Check whether the statements of a message are too many or too long for a question with a little context.

    :param text: The message on one line.
    :param has_mark: Whether it has a question mark.
    :returns: Whether there are more statements, or more words in them, than the limits allow.
    """
    if _ends_with_mark(text):
        most_statements, most_stated_words = 2, _MAX_CONTEXT
    elif has_mark or text.endswith(_FULL_STOPS):
        most_statements, most_stated_words = 1, _MAX_ASIDE
    else:
        # A message without any mark is all one statement. How long it may be, `_is_longer_text` has checked.
        most_statements, most_stated_words = 1, _count(text)

    stated_words = _words_of_statements(text)
    if len(stated_words) > most_statements or sum(stated_words) > most_stated_words:
        return True
    # Behind the first colon, a text may have been pasted.
    behind_colon = re.split(r"[:\uff1a]", text, maxsplit=1)[1:]
    return max(_words_of_statements(*behind_colon), default=0) > _MAX_AFTER_COLON


def _ends_with_mark(text: str) -> bool:
    """Check whether a text ends with a question mark, behind which up to three quotation marks and brackets may stand.

    For example, ``_ends_with_mark('(Who paid?)"')`` returns ``True``.
    """
    return QUESTION_MARK.search(text[-4:]) is not None


def split_question(message: str) -> tuple[str, list[str]]:
    """Separate the question in a message from its statements.

    For example, ``split_question("I sail a boat of 1974. Who built it?")`` returns
    ``("Who built it?", ["I sail a boat of 1974."])``.

    The steps:

    1. Remarks in brackets, quotation marks or signs of emphasis are statements if they are long.
       ``split_question("Who paid (Quill sold it for 41 million)?")`` returns
       ``("Who paid ?", ["(Quill sold it for 41 million)"])``.
    2. The rest is split into sentences.
    3. A message without a question mark stays whole, or counts as one statement. It is a statement if it mixes long
       clauses, has a long remark, or states a number or a name. Keywords and requests such as "List the boats." stay.
    4. In a message with a question mark, each sentence without a question mark is a statement. If several sentences
       have a question mark, each of them must look like a question: a sentence that states a number or a name and does
       not begin as a question is a statement.
    5. A sentence with a question mark is split into clauses. Of two clauses, the form does not show which one asks, so
       each clause of more than three words is a statement. The last clause stays if it alone begins as a question
       does: ``split_question("one more thing - is it safe to drink?")`` returns
       ``("is it safe to drink?", ["one more thing"])``.
    6. The clauses that are left are split at commas, as in :func:`_split_commas`.

    If no clause is left that may be the question, the whole sentence is a statement. A remark or a clause that holds
    a digit is a statement already with fewer words than without.

    :param message: The text that the person wrote. It may have several lines.
    :returns: The question and the list of statements. The question is the unchanged message if there is no statement,
        and empty if the message has no question.
    """
    # Step 1: take out the remarks in brackets, quotation marks and signs of emphasis.
    statements = [remark for remark in _REMARK.findall(message) if _is_stated_remark(remark, message)]
    rest = _REMARK.sub(lambda match: "" if match[0] in statements else match[0], message)

    # Step 2: split into sentences.
    sentences = _split_sentences(rest)

    # Step 3: a message without a question mark stays whole, or is a statement.
    if not QUESTION_MARK.search(rest):
        is_statement = bool(statements) or _states_without_mark(rest, sentences)
        return ("", [message]) if is_statement else (message, [])

    questions: list[str] = []
    marked = [sentence for sentence in sentences if _ends_with_mark(sentence)]
    for sentence in filter(None, sentences):
        # Step 4: the whole sentence is a statement.
        is_asked = sentence in marked
        if is_asked and len(marked) > 1:
            is_asked = not _states_in_question(sentence)
        if not is_asked:
            statements.append(sentence)
            continue
        # Steps 5 and 6: split into clauses, and the clauses at commas.
        asking, stated_parts = _split_sentence(sentence)
        questions += asking
        statements += stated_parts

    question = " ".join(questions) if statements else message
    return question if any(map(str.isalnum, question)) else "", statements


def _is_stated_remark(remark: str, message: str) -> bool:
    """Check whether a remark in brackets, quotation marks or signs of emphasis is a statement."""
    return _is_long(remark, _MAX_AFTER_COLON, _MAX_GREETING) or _is_aside(remark, message)


def _split_sentences(text: str) -> list[str]:
    """Split a text into sentences. A line may break within a sentence, so a line break ends only a clause."""
    places = {0, len(text)}
    for end, after, kind in sentence_ends(text):
        is_ordinal = _ORDINAL.search(text, max(0, end - 4), end) is not None
        if kind == "sentence" and not is_ordinal:
            places.add(after)
    places.update(stop.end() for stop in _OTHER_STOP.finditer(text))
    # A sentence without a full stop ends before a question word. What this loop adds counts for the next sign.
    for sign in _RUN_ON.finditer(text):
        if _may_ask(sign[1]):
            begin = max(place for place in places if place <= sign.start())
            if _may_state(text[begin : sign.end()]):
                places.add(sign.end())

    # Before a sure question, a sentence also ends at stops and at words such as "so".
    begins = sorted(places)
    for sign in _BEFORE_QUESTION.finditer(text):
        # The beginning of the sentence in which the sign stands.
        begin = begins[bisect_right(begins, sign.start()) - 1]
        # The beginning of a long part says enough, and keeps the time of a long message short.
        part = text[begin : min(sign.start(), begin + _QUESTION_CHARACTERS)]
        # A word such as "and" also joins two questions. So only a short statement is cut off before it.
        is_word = sign[0][0].isalpha()
        states = _tells_briefly(part) if is_word else _may_state(part)
        if states and _asks_behind(sign[0], text[sign.end() : sign.end() + _QUESTION_CHARACTERS]):
            places.add(sign.end())
    return [text[start:end].strip() for start, end in pairwise(sorted(places))]


def _states_without_mark(text: str, sentences: Iterable[str]) -> bool:
    """Check whether a message without a question mark mixes long clauses, or states a number or a name."""
    clauses = [clause for sentence in sentences for clause in _clauses(sentence)]
    if len(clauses) > 1 and any(_count(clause) > _MAX_AFTER_COLON for clause in clauses):
        return True
    has_stop = text.rstrip().endswith(_FULL_STOPS)
    if has_stop and _states_number(text, _MAX_GREETING):
        return True
    # Without a full stop, a few words with a name are keywords, such as "Quandt and Varnholt takeover date".
    most = _MAX_GREETING if has_stop else _MAX_AFTER_COLON
    return _states_name(text, most) and not _may_ask(text)


def _states_in_question(sentence: str) -> bool:
    """Check whether a sentence with a question mark states something, if another sentence has one, too."""
    # In "Is it legal?, my landlord lied?" a comma begins what has been taken for a sentence.
    goes_on = _COMMA.match(sentence) is not None and _tells_briefly(sentence[1:])
    return goes_on or _states_number_or_name(sentence)


def _split_sentence(sentence: str) -> tuple[list[str], list[str]]:
    """Separate the parts of a sentence with a question mark that ask from those that state something.

    For example, ``_split_sentence("Our rent is 900 euros: what is usual?")`` returns
    ``(["what is usual?"], ["Our rent is 900 euros"])``.
    """
    *above, line = sentence.splitlines() or [sentence]
    if above and all(map(_is_heading, above)) and len(_clauses(line)) == 1:
        # A name or a greeting on a line of its own is no part of the question below it.
        clauses = [*above, line]
        stated = above
    else:
        clauses = _clauses(sentence) or [sentence]
        stated = _find_stated(clauses, sentence)

    asking = [sentence]
    if stated:
        asking = [clause for clause in clauses if clause not in stated]
        # Several short clauses, or a single word, are the rest of a question that was cut in two. If only a short
        # clause before the question is left, nothing of the sentence asks.
        is_rest = len(asking) > 1 or _count(" ".join(asking)) < _MIN_QUESTION
        has_lost_question = clauses[-1] in stated and not any(map(_may_ask, asking))
        if is_rest or has_lost_question:
            return [], [sentence]

    questions = []
    for clause in asking:
        remainder, stated_parts = _split_commas(clause)
        questions.append(remainder)
        stated = [*stated, *stated_parts]
    return questions, stated


def _find_stated(clauses: Sequence[str], sentence: str) -> list[str]:
    """List the clauses of a sentence that are statements."""
    *before, last = clauses
    # Before the last clause, a number with any word beside it is a statement.
    stated = [clause for clause in before if _is_long(clause, _MAX_GREETING, 1)]

    has_short_begin = all(_count(clause) <= _MAX_GREETING for clause in before)
    is_one_question = has_short_begin and _is_spanish_question(sentence, last)
    if before and not is_one_question:
        # Behind a statement, more than two words with a number may be its end, because a stop behind a number ends the
        # clause too early: "9. kesäkuuta 62 miljoonalla".
        may_be_end = bool(stated) and not _may_ask(last)
        most_with_digit = _MAX_WITH_NUMBER if may_be_end else _MAX_GREETING
        if _is_long(last, _MAX_GREETING, most_with_digit):
            stated.append(last)

    if QUESTION_MARK.search(last):
        stated += [clause for clause in before if clause not in stated and _tells_briefly(clause)]

    # The form does not show which of two long clauses asks. But the last one does if it alone begins as a question.
    asks_last_alone = _surely_asks(last) and not any(map(_may_ask, before))
    if last in stated and asks_last_alone:
        # The clauses before may be an introduction, such as "Quick question:". They may also be a short statement, so
        # they are left out in any case.
        return before
    return stated


def _clauses(sentence: str) -> list[str]:
    """Split a sentence into its clauses. A sign within a title does not split.

    For example, ``_clauses("Boat 1974 | Who paid?")`` returns ``["Boat 1974", "Who paid?"]``, and
    ``_clauses("Who directed Mad Max: Fury Road?")`` returns ``["Who directed Mad Max: Fury Road?"]``.
    """
    is_text = len(sentence) > _LONGEST_WITH_TITLES
    parts: list[str] = []
    begin = 0
    for sign in _CLAUSE_END.finditer(sentence):
        if not is_text and _is_in_title(sentence[: sign.start()], sentence[sign.end() :]):
            continue
        parts.append(sentence[begin : sign.start()])
        begin = sign.end()
    parts.append(sentence[begin:])
    return [part.strip() for part in parts if any(map(str.isalnum, part))]


def _is_spanish_question(sentence: str, clause: str) -> bool:
    """Check whether a clause stands between the two question marks of a Spanish question, "¿" and "?".

    For example, ``_is_spanish_question("Hola, ¿qué hora es?", "qué hora es?")`` returns ``True``.
    """
    return _may_ask(clause) and "¿" in sentence and sentence.rpartition("¿")[2].strip() == clause


def _is_aside(remark: str, message: str) -> bool:
    """Check whether a remark is a brief statement at the beginning of the message.

    For example, in "(Mira has cancer) who pays?" and "*Mira has cancer* - who pays?" the remark is an aside. Within a
    question, a remark mostly explains a word: "Who is Michael Jordan (American basketball player)?".
    """
    return message.startswith(remark) and _tells_briefly(_REMARK_SIGNS.sub("", remark))


def _may_state(text: str) -> bool:
    """Check whether a text has no question word, and is longer than a greeting or a brief statement."""
    return (_count(text) > _MAX_GREETING and not _may_ask(text)) or _tells_briefly(text)


def _tells_briefly(text: str) -> bool:
    """Check whether three words before a question may be a statement, as :func:`_tells` says."""
    return _count(text) == _MAX_GREETING and _tells(text)


def _tells(text: str) -> bool:
    """Check whether three words or more may be a statement, and not the name of what a question asks about.

    A statement has a word in lower case that is no small word such as "of", and does not begin with such a word. For
    example, ``_tells("Quandt leaves Varnholt")`` returns ``True``, and so do "my son drinks" and "just to ask". It
    returns ``False`` for "The Great Gatsby", "the Berlin wall", "Queen of Sheba" and "in May 1950".
    """
    if _count(text) < _MAX_GREETING or _may_ask(text):
        return False
    words = normalize_words(text).split()
    # Five characters or more of a script without spaces may be a name, too. A place or a time has its particle.
    if len(words) < _MAX_GREETING:
        return len(words) == 1 and _ADVERBIAL.search(text) is None
    begins_as_thing = words[0] in _NO_VERBS | _INVERTED | _BEFORE_CLAUSE
    joins = words[1] in _CONJUNCTIONS
    # A letter of a script without capitals counts as lower-case.
    lower = [word for word in text.split() if word[:1].isalpha() and not word[0].isupper()]
    has_lower = any(normalize_words(word) not in _NO_VERBS for word in lower)
    return has_lower and not begins_as_thing and not joins


def _asks_behind(sign: str, text: str) -> bool:
    """Check whether a text behind a stop, or behind a word such as "and", is a question of its own.

    Behind a word, "is" may go on with the sentence, and "what" may be its object. So a question word must be first,
    and behind "what" and "which" a verb must follow. For example, ``_asks_behind("and", "what is it?")`` returns
    ``True``, and ``_asks_behind("and", "what kind of artist?")`` returns ``False``.
    """
    is_stop = not sign[0].isalpha()
    if is_stop:
        if _surely_asks(text):
            return True
        # A single full stop may belong to an abbreviation. Behind "..." the sentence goes on in lower case, and asks.
        has_dots = len(sign.strip()) > 1 or "…" in sign
        return has_dots and QUESTION_MARK.search(text) is not None and not text[0].isupper()

    first, second = _first_two(normalize_words(text))
    if first in ("what", "which"):
        return second in _VERBS | _INVERTED
    return first not in _VERBS and _surely_asks(text)


def _first_two(text: str) -> tuple[str, str]:
    """Return the first and the second word of a text; empty for each word that it lacks.

    For example, ``_first_two("who paid it")`` returns ``("who", "paid")``.
    """
    first, second, *_ = (*text.split(maxsplit=2), "", "")
    return first, second


def _split_commas(clause: str) -> tuple[str, list[str]]:
    """Separate the parts of a clause that state a number or a name from the other parts. Parts are split at commas.

    For example, ``_split_commas("What is usual, our rent is 1,200 euros?")`` returns
    ``("What is usual", ["our rent is 1,200 euros?"])``. If fewer than two words of a question are left, the whole
    clause is a statement: ``_split_commas("Our rent is 1,200 euros, why?")`` returns
    ``("", ["Our rent is 1,200 euros, why?"])``.
    """
    parts = _COMMA.split(clause)
    if len(parts) == 1:
        return clause, []

    stated = _find_stated_parts(parts, clause)
    if len(stated) == len(parts):
        # No part begins as a question does. Then a part with a question word and without a number asks.
        stated = [part for part in parts if _NUMBER.search(part) or not _WORDS_ANYWHERE.search(part)]
    if not stated:
        return clause, []

    asking = [part for part in parts if part not in stated]
    remainder = ", ".join(asking)
    has_lost_question = parts[-1] in stated and not any(map(_may_ask, asking))
    is_too_short = _count(remainder) < _MIN_QUESTION
    return ("", [clause]) if has_lost_question or is_too_short else (remainder, stated)


def _find_stated_parts(parts: Sequence[str], clause: str) -> list[str]:
    """List the parts of a clause that are statements, by their numbers and names, and by how short they are.

    :param parts: The parts between the commas, two or more.
    :param clause: The clause.
    :returns: The statements, in the order of the parts.
    """
    with_number = [part for part in parts if _states_number(part, _MAX_WITH_NUMBER)]
    if _begins_question(clause):
        # In an English question, a part behind a comma is mostly a place or an answer to choose from. So only a part
        # that says something about a person is a statement, or a part with a number that is no list of names.
        about_person = [part for part in parts[1:] if _ABOUT_PERSON.match(part) and _states_number_or_name(part)]
        no_list = [part for part in with_number if not _is_list_of_names(part)]
        stated = [part for part in parts if part in about_person or part in no_list]
    else:
        stated = [part for part in parts if part in with_number or _states_number_or_name(part)]

    *before, last = parts
    if not QUESTION_MARK.search(last):
        return stated

    # The last part has the question mark. A short statement may stand before it: "Quandt leaves Varnholt, who pays?"
    stated_before = [part for part in before if part in stated or _tells_briefly(part)]
    # A longer one stands first, and what follows asks by its first words: "my landlord drinks too much, is ...?"
    is_first_stated = _tells(before[0]) and _surely_asks(last)
    if is_first_stated and before[0] not in stated_before:
        stated_before = [before[0], *stated_before]
    # What is a question by its first words is no statement, although it may have a number.
    is_last_stated = last in stated and not _surely_asks(last)
    return [*stated_before, last] if is_last_stated else stated_before


def _is_heading(line: str) -> bool:
    """Check whether a line may be a name or a greeting above a question, such as "Good morning" or "Ada,"."""
    return _count(line) <= _MAX_GREETING and not line[:1].islower() and not _begins_question(line)


def _is_list_of_names(text: str) -> bool:
    """Check whether a text is a list of names or titles: three capitalised words or more, at most one in lower case.

    For example, ``_is_list_of_names("Moscow Pride 6 or Alpha Two?")`` returns ``True``.
    """
    letters = [word[0] for word in text.split() if word[0].isalpha()]
    return sum(map(str.isupper, letters)) >= 3 and sum(map(str.islower, letters)) <= 1


def _is_in_title(before: str, behind: str) -> bool:
    """Check whether the sign between two texts stands in a title in an English question.

    A title has a capitalised word before the sign and two behind it. For example,
    ``_is_in_title("Who directed Mad Max", "Fury Road?")`` returns ``True``.
    """
    words = [word for word in before.split() if not word.isdecimal()]
    title = [*words[-1:], *behind.split()[:2]]
    has_words_beside = len(words) > 1 and len(title) > 1
    return has_words_beside and _begins_question(before) and all(word[0].isupper() for word in title)


def _begins_question(text: str) -> bool:
    """Check whether a text begins as an English question does: "Who paid", "Is it", "Do you"."""
    first, second = _first_two(text.casefold())
    # "Do" is a preposition in Polish, and a verb in Italian ("do a ..."). So a subject must follow.
    return first in _FIRST_WORDS or (first == "do" and second in _SUBJECTS)


def _states_number(text: str, most: int) -> bool:
    """Check whether a text of more than ``most`` words has a number outside brackets and does not begin as a question.

    For example, ``_states_number("our rent is 1,200 euros", 3)`` returns ``True``, and
    ``_states_number("In 1945", 2)`` returns ``False``.
    """
    has_number = _NUMBER.search(_REMARK.sub("", text)) is not None
    return has_number and _count(text) > most and not _begins_question(text)


def _states_number_or_name(text: str) -> bool:
    """Check whether a text of more than three words states a number or a name and does not begin as a question."""
    return _states_number(text, _MAX_GREETING) or (_states_name(text, _MAX_GREETING) and not _may_ask(text))


def _states_name(text: str, most: int) -> bool:
    """Check whether a text of more than ``most`` words has a number, or a word behind the first that may be a name.

    A word may be a name unless it begins with a lower-case letter. In scripts without capitals, each word may be one.
    For example, ``_states_name("our boss Quandt leaves", 3)`` returns ``True``.
    """
    # The first word has a capital letter in any case. A text of one word, as in a script without spaces, is looked at.
    words = text.split()[1:] or [text]
    has_name = any(word[:1].isalpha() and not word[0].islower() for word in words)
    return _count(text) > most and (has_name or _NUMBER.search(text) is not None)


def _may_ask(text: str) -> bool:
    """Check whether a text may be a question: a question word is first or second, or anywhere in some scripts.

    The question words are those of the lists above. A text in another language never counts as a question, so a
    statement in that language is never sent. For example, ``_may_ask("Please tell me who paid")`` returns ``True``,
    and ``_may_ask("the boat which Ada built")`` returns ``False``.
    """
    first, second = _first_two(normalize_words(text).removeprefix("please "))
    if first in _REQUEST_VERBS or not _EARLY_WORDS.isdisjoint((first, second)):
        return True
    return _begins_question(text) or _WORDS_ANYWHERE.search(text) is not None


def _surely_asks(clause: str) -> bool:
    """Check whether a clause is a question by its first words: a question word, or an English verb and its subject.

    The check is stricter than :func:`_may_ask`, because a clause that passes is sent. For example,
    ``_surely_asks("in welchem Jahr starb Johann?")`` returns ``True``, and
    ``_surely_asks("when Ilse Quandt leaves we pay?")`` returns ``False``.
    """
    first, second = _first_two(normalize_words(clause))
    # Behind a comma, a statement may stand.
    has_comma = _COMMA.search(clause) is not None
    # "When Ada leaves" is a statement, and "When does Ada leave" is a question.
    begins_statement = first in _SUBORDINATE and second not in _INVERTED | _FIRST_WORDS
    if has_comma or begins_statement:
        return False

    begins_with_question_word = first in _FIRST_WORDS or first in _EARLY_WORDS
    # "In which", "zu wem".
    has_preposition = first in _PREPOSITIONS and second in _EARLY_WORDS
    # "Can we", "has it".
    has_verb_and_subject = first in _INVERTED and second in _INVERTED_SUBJECTS
    if begins_with_question_word or has_preposition or has_verb_and_subject:
        return True
    # In a script without blanks, the first word cannot be found, so a question word may be anywhere.
    word_anywhere = _WORDS_ANYWHERE.search(clause)
    return word_anywhere is not None and not word_anywhere[0].isascii()


def _is_long(text: str, most: int, most_with_digit: int) -> bool:
    """Check whether a text has more than ``most`` words; if it has a digit, more than ``most_with_digit``."""
    return _count(text) > (most_with_digit if _DIGIT.search(text) else most)


def _words_of_statements(text: str = "") -> list[int]:
    """Count the words of each statement: each sentence that does not end with a question mark and is no greeting.

    For example, ``_words_of_statements("I sail a boat. Who built it? Thank you!")`` returns ``[4]``.
    """
    places = [0, *(after for _, after, _ in sentence_ends(text)), len(text)]
    sentences = (text[start:end].strip() for start, end in pairwise(places))
    counts = [_count(sentence) for sentence in sentences if not _ends_with_mark(sentence)]
    return [words for words in counts if words > _MAX_GREETING]


def _count(text: str) -> int:
    """Count the words of a text. In scripts without spaces, two characters count as a word.

    For example, ``_count("Who paid?")`` returns ``2``.
    """
    return len(_WORD.findall(text))
