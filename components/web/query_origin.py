"""Where a query comes from: a person's question, or a text that must stay here.

Front ends have a model write titles, summaries and translations, and send what it is made of as a message of the user.
That is told by form, not by the wordings of their prompts: what does not look like a question stays here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from prefrag.components.state.state import State
from prefrag.components.text.sentences import sentence_ends
from prefrag.components.text.term_statistics import QUESTION_WORDS, passage_text

# So many words in a row are copied from a passage; fewer may be a name.
COPIED_WORDS = 5
# Of a question of one paragraph; of a sentence before it, of a text behind a colon, and of a greeting on its own line.
_MAX_WORDS, _MAX_ASIDE, _MAX_AFTER_COLON, _MAX_GREETING = 100, 12, 6, 3
# Scripts without blanks: two signs count as a word.
_SIGNS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SIGNS}]{{1,2}}|[^\s{_SIGNS}]+")
_TOKEN = re.compile(rf"(?=([{_SIGNS}]{{2}}))[{_SIGNS}]|([^\s{_SIGNS}]+)")
_ASKS, _TOLD = re.compile(r"[?\uff1f؟⁇‽՞፧]"), (".", "!", "\u3002", "\uff01")
# A fence, a closing tag, tokens of chat templates, a key of JSON, and a long quotation.
_BLOCK = re.compile(
    r"`{3}|~{3}|\"{3}|</[^\W\d]|<\||\|>|\[/?INST\]|<</?SYS|[\"'][^\"'\n]{1,30}[\"']\s{0,9}:"
    r"|(?:(?<!\w)[“„「『\"\u2018](?=\w)|[«»]\s?)(?:(?:[^\s”»«」』\"\u2019]{1,80}\s{1,9}){7}|[^\s”»«」』\"\u2019]{16})"
)
# What stands behind the name of a speaker, in any language.
_SPEAKER = re.compile(r"[:\uff1a|\[\]<>{}]|[—\u2013]\s")
# A small extra beside the forms: a message that begins by asking for work on a text.
_WORK = re.compile(
    r"(?i)\W*(?:please\W+|bitte\W+|(?:can|could) you\W+)?(?:translat|summar[iy]|rephras|paraphras|rewrite|proofread"
    r"|shorten|übersetz|fasse?\b|formulier|tradui|résum|reformul|tradu[cz]|resum|riassu|przetł|streść|podsum|перевед"
    r"|çevir|özetle|vertaal|ترجم|لخص|अनुवाद)|.*(?:翻译|翻譯|总结|總結|翻訳|要約|번역|요약)"
)


@lru_cache(maxsize=256)
def is_question(message: str, instructed: bool = False) -> bool:
    """Check that a message looks like a person's question: one line, and hardly anything that tells.

    :param message: What was sent as a message of the user, in any language.
    :param instructed: Whether a system prompt came with it, which may say what to do with it.
    :returns: False where it holds a conversation or another text, and in doubt.
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    long = [line for line in lines if _count(line) > _MAX_GREETING]
    text = " ".join(lines)
    if _BLOCK.search(text) or _WORK.match(text) or _count(text) > _MAX_WORDS:
        return False
    if len(lines) > 1 and (len(long) > 1 or _SPEAKER.search(text) or not all(map(_ASKS.search, long))):
        return False
    asks, tells = _ASKS.search(text) is not None, text.endswith(_TOLD)
    if not asks and _count(re.split(r"[:\uff1a]", f"{text}:", maxsplit=1)[1]) > _MAX_AFTER_COLON:
        return False
    if instructed and not asks and (tells or _count(text) > 8):
        return False
    places = [0, *(after for _, after, _ in sentence_ends(text)), len(text)]
    sentences = (text[start:end].strip() for start, end in pairwise(places))
    told = [words for each in sentences if not _ASKS.search(each[-4:]) and (words := _count(each)) > _MAX_GREETING]
    return len(told) <= 1 and not (told and told[0] > _MAX_ASIDE and (asks or tells))


def find_origin(query: str, state: State) -> str:
    """Find why a query may not leave.

    :param query: The query.
    :param state: The run that it belongs to.
    :returns: What it is made of in place of a person's question; nothing where it may leave.
    """
    asked, external, instructions = state.typed or state.question, state.settings.external, state.settings.instructions
    if not is_question(asked, bool(instructions)):
        return "the message holds a conversation or a text, and not a question alone; put the question by itself"
    own, brought = [asked], [instructions, *map(passage_text, state.attached)]
    for role, text in state.history:
        (own if role == "user" and is_question(text) else brought).append(text)
    words = _content_words([query]) or set(_split(query))
    if 2 * len(words & _content_words(brought) - _content_words(own)) > len(words):
        return (
            "most of its words stand in an earlier answer or a text, not in your own: name in your question what to ask"
        )
    # What the last search has found was not read yet when its query was written.
    read = [search for step in state.steps[:-1] for search in step.searches if search.source not in external]
    passages = [
        document.content or "" for document in (*(each for one in read for each in one.documents), *state.attached)
    ]
    if _runs([query]) & _runs(passages) - _runs(own):
        return f"it repeats {COPIED_WORDS} words or more of a passage of your own documents"
    return ""


def _count(text: str) -> int:
    return len(_WORD.findall(text))


def _split(text: str) -> list[str]:
    """Split a text into its words in small letters, or pairs of signs where a script has no blanks."""
    text = "".join(sign if unicodedata.category(sign)[0] in "LMN" else " " for sign in text.casefold())
    return [pair or word for pair, word in _TOKEN.findall(text)]


def _content_words(texts: Iterable[str]) -> set[str]:
    words = {word for text in texts for word in _split(text)} - QUESTION_WORDS
    return {word for word in words if len(word) > 3 or not word.isalpha() or word[0] >= "\u0e00"}


def _runs(texts: Iterable[str]) -> set[str]:
    parts = (_split(text) for text in texts)
    return {" ".join(each[at : at + COPIED_WORDS]) for each in parts for at in range(len(each) - COPIED_WORDS + 1)}
