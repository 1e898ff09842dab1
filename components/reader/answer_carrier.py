"""Find the sentence of the passages that carries an answer: the sentence in which the words of the answer stand."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from haystack import Document

from prefrag.components.reader.another_question import ANY_NEGATION
from prefrag.components.reader.question_form import looks_english
from prefrag.components.reader.span_features import WordWeight, question_weights, stem, stems_of
from prefrag.components.state.evidence import find_whole
from prefrag.components.text.sentences import cut_text, shown_sentences
from prefrag.components.text.term_statistics import PLAIN_WORDS, sum_of_weights
from prefrag.components.text.title_mentions import normalize_words, title_key
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS

# The smallest share of an answer's own words that its sentence must hold: with all its numbers and names, or without.
_LEAST_SHARE, _LEAST_SHARE_OF_WORDS = 1 / 3, 0.6
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019.,:/-][^\W_]+)*")
# Not "No. 10", "No Way Home" or "No price is mentioned".
_VERDICT = re.compile(r"\W*(?:yes|no)\b(?:\W*$|\s?[,;:!\u2013\u2014-]|\.(?!\s*\d))", re.IGNORECASE)
_UNSPACED = re.compile(f"[{UNSPACED_SCRIPTS}]")
_MAX_READ = 60_000  # characters of a passage
# So few words may be a name alone: its language does not show, and it is no sentence that begins with a capital.
_FEW_WORDS = 3
# A model writes "5 years" where a passage has "five years". "One" is left out, because it mostly is no number.
_FIGURES = {
    word: str(number)
    for number, word in enumerate(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=2
    )
}
# How many further sentences a chain has: the answer to "who founded the school that trained the designer of X?" stands
# two passages away from X.
_LINKS = 2


@dataclass(frozen=True)
class Carrier:
    """A sentence that carries an answer.

    :param document: The passage.
    :param sentence: The sentence.
    :param is_whole: Whether the answer stands in the sentence, or in the title of its passage, word for word.
    """

    document: Document
    sentence: str
    is_whole: bool


class _Sentence(NamedTuple):
    place: int  # the index of its passage
    words: str  # its words in a normal form, between blanks
    stems: frozenset[str]  # the stems of its words and of those of its title


def is_verdict(answer: str) -> bool:
    """Check whether an answer is yes or no, perhaps with a reason."""
    return _VERDICT.match(answer) is not None


def own_words(question: str, answer: str) -> list[str]:
    """List the words of an answer that say more than its question: neither words of the question nor plain words."""
    asked = _forms(question)
    empty = asked.words | asked.stems | PLAIN_WORDS
    own = [word for word in _TOKEN.findall(answer) if not _forms(word).words & empty]
    # In a script without blanks, a word may be a whole part of the question.
    return [word for word in own if word not in question or not _UNSPACED.search(word)]


def is_refusal(question: str, answer: str, documents: Sequence[Document]) -> bool:
    """Check whether a reply gives no value: it has no words of its own, or none of them stands in a passage.

    A refusal in prose, such as "The passages do not mention the price", is recognised by its words, not by its wording.
    Two kinds of answers are no refusals: a yes or no, and an answer that the question itself names, as in "Is it red or
    blue?", if a passage holds the same phrase.
    """
    if is_verdict(answer):
        return False
    texts = [_text(document) for document in documents]
    own = own_words(question, answer)
    if not own:
        wanted = answer.strip(" .")
        return not any(find_whole(wanted, question) and find_whole(wanted, text) for text in texts)
    # A number or a name is a value even where no passage has it: then the answer is an invention and no refusal.
    if _telling_words(answer, own, texts):
        return False
    return not any(_stands(word, text) for word in own for text in texts)


def find_carrier(question: str, answer: str, documents: Sequence[Document], is_yes_no: bool = False) -> Carrier | None:
    """Find the sentence that carries an answer, the nearest to the question if there are several.

    :param question: The question.
    :param answer: The answer without citations.
    :param documents: The passages that were shown.
    :param is_yes_no: Whether the answer is a yes or no, in any language, which the sentence nearest to the question
        carries.
    :returns: The carrier; None if no sentence has all numbers and names of the answer and enough of its own words.
    """
    wanted = answer.strip().rstrip(".").strip()
    is_yes_no = is_yes_no or is_verdict(answer)
    asked, texts = stems_of(question), [_text(document) for document in documents]
    own = own_words(question, wanted) or _TOKEN.findall(wanted)
    telling = _telling_words(wanted, own, texts)
    is_denied = ANY_NEGATION.search(wanted) is not None
    least = _LEAST_SHARE if telling else _LEAST_SHARE_OF_WORDS
    best: Carrier | None = None
    best_rank = (False, 0.0, 0.0)
    for document in documents:
        title = str(document.meta.get("title") or "")
        for sentence in shown_sentences(cut_text(document.content or "", _MAX_READ)):
            said = f"{title} {sentence}"
            cover = len(asked & stems_of(said)) / max(1, len(asked))
            is_whole = bool(find_whole(wanted, sentence) or find_whole(wanted, title))
            share = sum(_stands(word, said) for word in own) / max(1, len(own))
            is_carried = share >= least and all(_stands(word, said, whole=True) for word in telling)
            # What denies something is not carried by a sentence that affirms it.
            if is_denied and not ANY_NEGATION.search(sentence):
                is_carried = False
            if not (is_whole or is_carried or is_yes_no):
                continue
            rank = (is_whole, 0.0 if is_yes_no else round(share, 6), cover)
            if best is None or rank > best_rank:
                best, best_rank = Carrier(document, sentence, is_whole), rank
    return best


def measure_chain(
    question: str, carrier: Carrier, documents: Sequence[Document], weight: WordWeight
) -> tuple[float, float]:
    """Measure how much of a question is covered by a carrier, and what the sentences that are linked to it add.

    A sentence is linked if it names the title of a passage in the chain, or if a sentence in the chain names the title
    of its passage. An answer about another thing of the same kind lacks the words that tell the two things apart.

    :param question: The question.
    :param carrier: The sentence with the answer.
    :param documents: The passages that were shown.
    :param weight: The weight of a word, from 0 (common) to 1 (rare).
    :returns: Both shares of the question's weight, from 0 to 1.
    """
    asked = question_weights(question, weight)
    titles = [str(document.meta.get("title") or "") for document in documents]
    keys = [title_key(title) for title in titles]
    own = next(place for place, document in enumerate(documents) if document is carrier.document)
    sentences = [
        _Sentence(place, f" {normalize_words(sentence)} ", stems_of(f"{titles[place]} {sentence}"))
        for place, document in enumerate(documents)
        for sentence in shown_sentences(cut_text(document.content or "", _MAX_READ))
    ]
    first = _Sentence(own, f" {normalize_words(carrier.sentence)} ", stems_of(f"{titles[own]} {carrier.sentence}"))
    chain, covered = [first], set(first.stems)
    cover = alone = sum_of_weights(asked, covered)
    for _ in range(_LINKS):
        best: _Sentence | None = None
        best_cover = cover
        for sentence in sentences:
            if not _is_linked(sentence, chain, keys):
                continue
            with_sentence = sum_of_weights(asked, covered | sentence.stems)
            if with_sentence > best_cover:
                best, best_cover = sentence, with_sentence
        if best is None:
            break
        cover = best_cover
        chain.append(best)
        covered |= best.stems
    return alone, cover - alone


def _is_linked(sentence: _Sentence, chain: Sequence[_Sentence], keys: Sequence[str]) -> bool:
    """Check whether a sentence names the title of another passage in a chain, or the chain names its own title."""
    places = {link.place for link in chain}
    for other in places - {sentence.place}:
        if keys[other] and f" {keys[other]} " in sentence.words:
            return True
    own_key = keys[sentence.place]
    if sentence.place in places or not own_key:
        return False
    return any(f" {own_key} " in link.words for link in chain)


def _telling_words(answer: str, own: Sequence[str], texts: Sequence[str]) -> set[str]:
    """Find the numbers and names of an answer, which no other words can stand for.

    The first word of a sentence is a name only if a passage also writes it with a capital. Where an answer is not in
    English, capitals need not mean names: only its numbers are telling.
    """
    tokens = [_TOKEN.findall(sentence) for sentence in shown_sentences(answer)]
    firsts = {words[0] for words in tokens if len(words) > _FEW_WORDS}
    telling = {word for word in own if any(map(str.isdigit, word))}
    is_english = looks_english(answer) or sum(map(len, tokens)) <= _FEW_WORDS
    if not is_english:
        return telling
    for word in own:
        is_name = word not in firsts or any(word in text for text in texts)
        if is_name and word[:1].isupper():
            telling.add(word)
    return telling


def _stands(word: str, text: str, whole: bool = False) -> bool:
    """Check whether a word stands in a text, by its stem or, with ``whole``, as it is."""
    if _UNSPACED.search(word):
        return word in text
    own, said = _forms(word), _forms(text)
    if whole:
        return not own.words.isdisjoint(said.words)
    return not (own.words | own.stems).isdisjoint(said.words | said.stems)


class _Forms(NamedTuple):
    words: frozenset[str]  # in lower case, numbers without separators of thousands, small ones also as figures
    stems: frozenset[str]  # and the parts of joined words


# Cached, because each sentence of a longer answer is compared with the same sentences of the passages.
@lru_cache(maxsize=4_096)
def _forms(text: str) -> _Forms:
    words = {word.lower().replace("\u2019", "'") for word in _TOKEN.findall(text)}
    plain = {re.sub(r"(?<=\d)[,.](?=\d{3}\b)", "", word) for word in words}
    parts = {part for word in words for part in re.split(r"[/:-]", word) if not part.isdigit()} - {""}
    names = {word.removesuffix("'s") for word in words}
    figures = {_FIGURES[word] for word in words & _FIGURES.keys()}
    stems = {stem(word).rstrip("s") for word in plain | parts if word.isalpha() and len(word) > 3}
    return _Forms(frozenset(plain | words | names | figures), frozenset(parts | stems))


def _text(document: Document) -> str:
    title = document.meta.get("title") or ""
    return f"{title} {cut_text(document.content or '', _MAX_READ)}"
