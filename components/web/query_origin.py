"""Check whether a query was made from a person's question, or from a text that must not leave this machine.

Chat programs also send messages that no person wrote, such as a request to name a conversation, followed by its text.
Such messages are recognised by their form: a message that does not look like a question is not sent to the web.
"""

import re
from collections.abc import Iterable
from itertools import pairwise

from prefrag.components.state.state import State
from prefrag.components.text.sentences import sentence_ends
from prefrag.components.text.term_statistics import QUESTION_WORDS, passage_text
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS
from prefrag.components.web.query_form import comparison_form

# If a query repeats this many words of a passage in a row, they count as copied. Fewer words may be a name.
COPIED_WORDS = 5
# The maximum number of words in a message: with a question mark; without one; without one but with a system prompt.
_MAX_WORDS, _MAX_UNMARKED, _MAX_INSTRUCTED = 100, 16, 8
# The maximum number of words in all statements of a message: if it ends with a question mark; if it does not.
_MAX_CONTEXT, _MAX_ASIDE = 20, 12
# The maximum number of words in a statement after a colon, and in a greeting. Greetings do not count as statements.
_MAX_AFTER_COLON, _MAX_GREETING = 6, 3
# In scripts without spaces, two characters count as a word.
_WORD = re.compile(rf"[{UNSPACED_SCRIPTS}]{{1,2}}|[^\s{UNSPACED_SCRIPTS}]+")
_UNSPACED = re.compile(f"[{UNSPACED_SCRIPTS}]")
_TOKEN = re.compile(rf"(?=([{UNSPACED_SCRIPTS}]{{2}}))[{UNSPACED_SCRIPTS}]|([^\s{UNSPACED_SCRIPTS}]+)")
_NO_CONTENT = {comparison_form(word) for word in QUESTION_WORDS}
_ASKS, _TELLS = re.compile(r"[?\uff1f؟⁇‽՞፧]"), (".", "!", "\u3002", "\uff01")
# Signs of a longer text: a code fence, a closing tag, tokens of chat templates, a JSON key, a long quotation.
_BLOCK = re.compile(
    r"`{3}|~{3}|\"{3}|</[^\W\d]|<\||\|>|\[/?INST\]|<</?SYS|[\"'][^\"'\n]{1,30}[\"']\s{0,9}:"
    r"|(?:(?<!\w)[“„「『\"\u2018](?=\w)|[«»]\s?)(?:(?:[^\s”»«」』\"\u2019]{1,80}\s{1,9}){7}|[^\s”»«」』\"\u2019]{16})"
)
_LABELS = re.compile(r"(?:^|[\s.?!])[^\W\d_]+[:\uff1a]\s.*[\s.?!][^\W\d_]+[:\uff1a]\s")
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
    a task, such as a translation, and the message may be the text to work on.
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    long = [line for line in lines if _count(line) > _MAX_GREETING]
    text = " ".join(lines)
    size, asks, ends = _count(text), _ASKS.search(text), _ASKS.search(text[-4:])
    if _BLOCK.search(text) or _LABELS.search(text) or size > (_MAX_WORDS if asks else _MAX_UNMARKED):
        return False
    if len(lines) > 1 and (len(long) > 1 or _SPEAKER.search(text) or not all(map(_ASKS.search, long))):
        return False
    if _WORK.match(text) and (size > _MAX_ASIDE or len(lines) > 1 or _SPEAKER.search(text)):
        return False
    if instructed and not asks and (text.endswith(_TELLS) or size > _MAX_INSTRUCTED):
        return False
    behind = re.split(r"[:\uff1a]", text, maxsplit=1)[1:]
    said, most = (
        _words_stated(text),
        (2, _MAX_CONTEXT) if ends else (1, _MAX_ASIDE if asks or text.endswith(_TELLS) else size),
    )
    return len(said) <= most[0] and sum(said) <= most[1] and max(_words_stated(*behind), default=0) <= _MAX_AFTER_COLON


def reason_to_withhold(query: str, state: State) -> str:
    """Return why a query must not leave this machine; empty if it was made from a person's question and may leave."""
    asked, external, instructions = state.typed or state.question, state.settings.external, state.settings.instructions
    if not is_question(asked, bool(instructions)):
        return "the message holds a conversation or a text, not just a question; ask the question by itself"
    own, brought = [asked], [instructions, *map(passage_text, state.attached)]
    for role, text in state.history:
        (own if role == "user" and is_question(text) else brought).append(text)
    words = _content_words([query]) or set(_split(query))
    borrowed = words & _content_words(brought) - _content_words(own)
    # If rules rewrote the question, they only inserted names. A borrowed word is then a name from an earlier answer, so
    # none is allowed. If a model wrote the query, it chose its own words, so up to half of them may be borrowed.
    by_rules = state.typed and "rewriter" not in state.usage.llm_calls
    if 2 * len(borrowed) > len(words) or (by_rules and borrowed):
        return (
            "some of its words come from an earlier answer or a text, not from you: say in your question what to find"
        )
    # Skip the current step: its results were not known yet when the query was written.
    read = [search for step in state.steps[:-1] for search in step.searches if search.source not in external]
    passages = [
        document.content or "" for document in (*(each for one in read for each in one.documents), *state.attached)
    ]
    if _copies(query, passages, own):
        return f"it repeats {COPIED_WORDS} words or more from a passage of your own documents"
    return ""


def _words_stated(text: str = "") -> list[int]:
    """Count the words of each statement: each sentence that is neither a question nor a greeting."""
    places = [0, *(after for _, after, _ in sentence_ends(text)), len(text)]
    told = (each for start, end in pairwise(places) if not _ASKS.search((each := text[start:end].strip())[-4:]))
    return [words for each in told if (words := _count(each)) > _MAX_GREETING]


def _count(text: str) -> int:
    return len(_WORD.findall(text))


def _split(text: str) -> list[str]:
    """Split a text into words to compare, or into pairs of characters in scripts without spaces."""
    return [pair or word for pair, word in _TOKEN.findall(comparison_form(text))]


def _content_words(texts: Iterable[str]) -> set[str]:
    words = {word for text in texts for word in _split(text)} - _NO_CONTENT
    return {word for word in words if len(word) > 3 or not word.isalpha() or word[0] >= "\u0e00"}


def _copies(query: str, passages: Iterable[str], own: Iterable[str]) -> bool:
    """Check whether a query has words of a passage in a row, also glued together or apart, that the person has not."""
    sequences = _word_sequences(passages) - _word_sequences(own)
    if sequences & _word_sequences([query]):
        return True
    glued, own_glued = _glue(query), [_glue(text) for text in own]
    # Pairs of characters overlap, so they cannot be glued. Their scripts have no blanks that could be left out.
    candidates = (words.replace(" ", "") for words in sequences if not _UNSPACED.search(words))
    return any(words in glued and not any(words in text for text in own_glued) for words in candidates)


def _glue(text: str) -> str:
    return comparison_form(text).replace(" ", "")


def _word_sequences(texts: Iterable[str]) -> set[str]:
    parts = (_split(text) for text in texts)
    return {" ".join(each[at : at + COPIED_WORDS]) for each in parts for at in range(len(each) - COPIED_WORDS + 1)}
