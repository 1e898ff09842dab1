"""Find the sentence of the passages that carries an answer.

A sentence carries an answer if the words of the answer stand in it. The module is used to check answers that a language
model wrote: :func:`find_carrier` finds the sentence, and :func:`is_refusal` recognises replies that give no answer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from haystack import Document

from prefrag.components.reader.another_question import ANY_NEGATION
from prefrag.components.reader.question_form import looks_english
from prefrag.components.reader.span_features import stem, stems_of
from prefrag.components.state.evidence import find_whole
from prefrag.components.text.number_words import VALUE_OF_NUMBER_WORD
from prefrag.components.text.sentences import cut_text, shown_sentences
from prefrag.components.text.term_statistics import PLAIN_WORDS
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS

# The share of an answer's own words that its sentence must contain at least, from 0 to 1. This value is for answers
# with numbers or names, all of which must stand in the sentence.
_LEAST_SHARE = 1 / 3
# The same share for answers without numbers and names.
_LEAST_SHARE_OF_WORDS = 0.6
# A word or a number, which may have signs inside. It matches "1,200.50", "follow-up" and "O'Hara".
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019.,:/-][^\W_]+)*")
# An answer that begins with yes or no. It matches "Yes", "No, it is not." and "yes: twice". It does not match "No. 10",
# "No Way Home" and "No price is mentioned".
_VERDICT = re.compile(r"\W*(?:yes|no)\b(?:\W*$|\s?[,;:!\u2013\u2014-]|\.(?!\s*\d))", re.IGNORECASE)
# A character of a script without blanks between words, such as Chinese.
_UNSPACED = re.compile(f"[{UNSPACED_SCRIPTS}]")
# The maximum number of characters that are read of a passage.
MAX_READ = 60_000
# An answer with at most this many words may be only a name. Its language is then unclear. Its first word may have a
# capital letter because it is a name, and not because a sentence begins.
_FEW_WORDS = 3


@dataclass(frozen=True)
class Carrier:
    """A sentence that carries an answer.

    :param document: The passage with the sentence.
    :param sentence: The sentence.
    :param is_whole: Whether the answer stands word for word in the sentence or in the title of its passage.
    """

    document: Document
    sentence: str
    is_whole: bool


def is_verdict(answer: str) -> bool:
    """Check whether an answer is yes or no, perhaps with a reason.

    For example, ``is_verdict("No, it is not.")`` returns ``True`` and ``is_verdict("No Way Home")`` returns ``False``.

    :param answer: The answer.
    :returns: Whether it begins with yes or no.
    """
    return _VERDICT.match(answer) is not None


def own_words(question: str, answer: str) -> list[str]:
    """List the words of an answer that say more than its question: neither words of the question nor plain words.

    For example, ``own_words("When was the hall opened?", "The hall was opened in 1966.")`` returns ``["1966"]``.

    :param question: The question.
    :param answer: The answer.
    :returns: The words as the answer writes them.
    """
    asked = _forms(question)
    empty = asked.words | asked.stems | PLAIN_WORDS
    further = [word for word in _TOKEN.findall(answer) if not _forms(word).words & empty]
    # In a script without blanks, a word may be a whole part of the question.
    return [word for word in further if word not in question or not _UNSPACED.search(word)]


def find_own_words(question: str, answer: str, sentence: str) -> list[tuple[int, int]]:
    """Find the words of a sentence that an answer has and its question lacks.

    For example, ``find_own_words("Who pays?", "The driver pays.", "Paid by the driver.")`` returns ``[(12, 18)]``.

    :param question: The question.
    :param answer: The answer.
    :param sentence: The sentence.
    :returns: Where each of these words begins and ends in the sentence, in order.
    """
    own = [_forms(word) for word in own_words(question, answer)]
    places: list[tuple[int, int]] = []
    for word in _TOKEN.finditer(sentence):
        forms = _forms(word[0])
        if any((forms.words | forms.stems) & (other.words | other.stems) for other in own):
            places.append(word.span())
    return places


def is_refusal(question: str, answer: str, documents: Sequence[Document]) -> bool:
    """Check whether a reply gives no value: it has no words of its own, or none of them stands in a passage.

    A refusal in prose, such as "The passages do not mention the price", is recognised by its words. No list of phrases
    is used.

    Two kinds of answers are no refusals. One is a yes or no. The other is an answer that the question itself names, as
    in "Is it red or blue?", if a passage contains the same phrase.

    :param question: The question.
    :param answer: The reply.
    :param documents: The passages that were shown.
    :returns: Whether the reply is a refusal.
    """
    if is_verdict(answer):
        return False

    texts = [_text(document) for document in documents]
    own = own_words(question, answer)
    if not own:
        phrase = answer.strip(" .")
        is_offered = find_whole(phrase, question) and any(find_whole(phrase, text) for text in texts)
        return not is_offered
    # A number or a name is a value even if no passage has it. Then the answer is an invention and no refusal.
    if _telling_words(answer, own, texts):
        return False
    return not any(_stands(word, text) for word in own for text in texts)


def find_carrier(question: str, answer: str, documents: Sequence[Document], is_yes_no: bool = False) -> Carrier | None:
    """Find the sentence that carries an answer. If there are several, the sentence nearest to the question is returned.

    :param question: The question.
    :param answer: The answer without citations.
    :param documents: The passages that were shown.
    :param is_yes_no: Whether the answer is a yes or no, in any language. The sentence nearest to the question then
        carries the answer.
    :returns: The sentence; None if no sentence has all numbers and names of the answer and enough of its own words.
    """
    wanted = answer.strip().rstrip(".").strip()
    is_yes_no = is_yes_no or is_verdict(answer)
    asked = stems_of(question)
    own = own_words(question, wanted) or _TOKEN.findall(wanted)
    telling = _telling_words(wanted, own, [_text(document) for document in documents])

    best: Carrier | None = None
    best_rank = (False, 0.0, 0.0)
    for document in documents:
        title = str(document.meta.get("title") or "")
        for sentence in shown_sentences(cut_text(document.content or "", MAX_READ)):
            titled_sentence = f"{title} {sentence}"
            is_whole = bool(find_whole(wanted, sentence) or find_whole(wanted, title))
            share = sum(_stands(word, titled_sentence) for word in own) / max(1, len(own))
            if not (is_whole or is_yes_no or _is_carried(wanted, telling, share, title, sentence)):
                continue

            cover = len(asked & stems_of(titled_sentence)) / max(1, len(asked))
            rank = (is_whole, 0.0 if is_yes_no else round(share, 6), cover)
            if best is None or rank > best_rank:
                best, best_rank = Carrier(document, sentence, is_whole), rank
    return best


def _is_carried(answer: str, telling: set[str], share: float, title: str, sentence: str) -> bool:
    """Check whether a sentence has enough words of an answer to carry it.

    :param answer: The answer.
    :param telling: The numbers and names of the answer.
    :param share: The share of the answer's own words that stand in the sentence or the title.
    :param title: The title of the passage.
    :param sentence: The sentence.
    :returns: Whether the sentence carries the answer.
    """
    # An answer that denies something is not carried by a sentence that affirms it.
    if ANY_NEGATION.search(answer) and not ANY_NEGATION.search(sentence):
        return False
    least = _LEAST_SHARE if telling else _LEAST_SHARE_OF_WORDS
    return share >= least and all(_stands(word, f"{title} {sentence}", whole=True) for word in telling)


def _telling_words(answer: str, own: Sequence[str], texts: Sequence[str]) -> set[str]:
    """Find the numbers and names of an answer, which cannot be replaced by other words.

    The first word of a sentence is a name only if a passage writes it with a capital too. If an answer is not in
    English, capitals need not mean names. Then only its numbers are returned.

    :param answer: The answer.
    :param own: The answer's own words.
    :param texts: The passages.
    :returns: The numbers and names among the own words.
    """
    tokens = [_TOKEN.findall(sentence) for sentence in shown_sentences(answer)]
    # The first words of sentences. A few words are no sentence, so that their first word may be a name.
    first_words = {words[0] for words in tokens if len(words) > _FEW_WORDS}
    telling = {word for word in own if any(map(str.isdigit, word))}

    is_english = looks_english(answer) or sum(map(len, tokens)) <= _FEW_WORDS
    if not is_english:
        return telling

    for word in own:
        is_name = word not in first_words or any(word in text for text in texts)
        if is_name and word[:1].isupper():
            telling.add(word)
    return telling


def _stands(word: str, text: str, whole: bool = False) -> bool:
    """Check whether a word stands in a text, in any form with the same stem.

    For example, ``_stands("boats", "The boat sank.")`` returns ``True``, and
    ``_stands("boats", "The boat sank.", whole=True)`` returns ``False``.

    :param word: The word.
    :param text: The text.
    :param whole: Whether only the word itself counts.
    :returns: Whether the word stands in the text.
    """
    if _UNSPACED.search(word):
        return word in text
    forms_of_word, forms_of_text = _forms(word), _forms(text)
    if whole:
        return not forms_of_word.words.isdisjoint(forms_of_text.words)
    all_of_word = forms_of_word.words | forms_of_word.stems
    all_of_text = forms_of_text.words | forms_of_text.stems
    return not all_of_word.isdisjoint(all_of_text)


class _Forms(NamedTuple):
    """The words of a text in forms that can be compared.

    :param words: The words in lower case. Numbers stand also without separators of thousands. The words from "two" to
        "twenty" stand also as digits.
    :param stems: The stems of the words, and the parts of joined words.
    """

    words: frozenset[str]
    stems: frozenset[str]


# Cached, because each sentence of a longer answer is compared with the same sentences of the passages. A result is kept
# for up to 4,096 texts.
@lru_cache(maxsize=4_096)
def _forms(text: str) -> _Forms:
    """Read the words of a text in forms that can be compared.

    For example, ``_forms("two 1,200")`` returns ``_Forms(frozenset({"two", "2", "1,200", "1200"}), frozenset({"two",
    "1,200"}))``.
    """
    words = {word.lower().replace("\u2019", "'") for word in _TOKEN.findall(text)}
    # "1200" for "1,200".
    plain = {re.sub(r"(?<=\d)[,.](?=\d{3}\b)", "", word) for word in words}
    # "follow" and "up" for "follow-up".
    all_parts = {part for word in words for part in re.split(r"[/:-]", word)}
    parts = {part for part in all_parts if part and not part.isdigit()}

    names = {word.removesuffix("'s") for word in words}
    # "5" for "five": a model writes "5 years" where a passage has "five years". The word "one" mostly is no number.
    figures = {str(VALUE_OF_NUMBER_WORD[word]) for word in words & VALUE_OF_NUMBER_WORD.keys() if word != "one"}
    longer = [word for word in plain | parts if word.isalpha() and len(word) > 3]
    stems = {stem(word).rstrip("s") for word in longer}
    return _Forms(frozenset(plain | words | names | figures), frozenset(parts | stems))


def _text(document: Document) -> str:
    """Return the title and the text of a passage as one text."""
    title = document.meta.get("title") or ""
    return f"{title} {cut_text(document.content or '', MAX_READ)}"
