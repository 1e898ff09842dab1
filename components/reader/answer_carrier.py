"""Find the sentence of the passages that carries an answer: the sentence in which the words of the answer stand."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from haystack import Document

from prefrag.components.reader.span_features import WordWeight, question_weights, stems_of
from prefrag.components.state.evidence import find_whole
from prefrag.components.text.sentences import shown_sentences
from prefrag.components.text.term_statistics import PLAIN_WORDS, sum_of_weights
from prefrag.components.text.title_mentions import normalize_words, title_key

# The smallest share of an answer's own words that its sentence must hold, besides all its numbers and names.
_LEAST_SHARE = 0.5
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019.,:/-][^\W_]+)*")
_VERDICT = re.compile(r"\W*(?P<word>yes|no)\b", re.IGNORECASE)
_MAX_READ = 60_000  # characters of a passage
# How many further sentences a chain has: the answer to "who founded the school that trained the designer of X?" stands
# two passages away from X.
_LINKS = 2


@dataclass(frozen=True)
class Carrier:
    """A sentence that carries an answer.

    :param document: The passage.
    :param sentence: The sentence.
    :param is_whole: Whether the answer stands in the sentence, or in the title of its passage, word for word.
    :param cover: The share of the question's words in the sentence and its title, from 0 to 1.
    """

    document: Document
    sentence: str
    is_whole: bool
    cover: float


def is_verdict(answer: str) -> bool:
    """Check whether an answer is yes or no, perhaps with a reason."""
    return _VERDICT.match(answer) is not None


def own_words(question: str, answer: str) -> list[str]:
    """List the words of an answer that say more than its question: neither words of the question nor plain words."""
    asked = _forms(question) | PLAIN_WORDS
    return [word for word in _TOKEN.findall(answer) if not _forms(word) <= asked]


def is_refusal(question: str, answer: str, documents: Sequence[Document]) -> bool:
    """Check whether a reply gives no value: it has no words of its own, or none of them stands in a passage.

    A refusal in prose, such as "The passages do not mention the price", is recognised by this, not by its wording. A
    yes or no is no refusal. For "Which is older, A or B?", the words of the question are the answer: a short answer
    that stands in the question as a whole, like one of its alternatives, is no refusal either.
    """
    if is_verdict(answer):
        return False
    own = own_words(question, answer)
    if not own:
        return find_whole(answer.strip(" ."), question) is None or " or " not in f" {question.lower()} "
    said = frozenset[str]().union(*(_forms(_text(one)) for one in documents))
    # A number or a name is a value even where no passage has it: then the answer is an invention and no refusal.
    return not any(_forms(word) & said or _is_telling(word) for word in own)


def find_carrier(question: str, answer: str, documents: Sequence[Document]) -> Carrier | None:
    """Find the sentence that carries an answer, the nearest to the question if there are several.

    :param question: The question.
    :param answer: The answer without citations. A yes or no is carried by the sentence that is nearest to the question.
    :param documents: The passages that were shown.
    :returns: The carrier; None if no sentence has all numbers and names of the answer and most of its own words.
    """
    wanted = answer.strip().rstrip(".").strip()
    asked = stems_of(question)
    own = own_words(question, wanted) or _TOKEN.findall(wanted)
    forms = [_forms(word) for word in own]
    telling = [form for word, form in zip(own, forms, strict=True) if _is_telling(word)]
    best: tuple[tuple[bool, float, float], Carrier] | None = None
    for document in documents:
        title = str(document.meta.get("title") or "")
        for sentence in shown_sentences((document.content or "")[:_MAX_READ]):
            cover = len(asked & stems_of(f"{title} {sentence}")) / max(1, len(asked))
            is_whole = find_whole(wanted, sentence) is not None or find_whole(wanted, title) is not None
            said = _forms(f"{title} {sentence}")
            share = sum(bool(form & said) for form in forms) / max(1, len(forms))
            is_carried = is_whole or (share >= _LEAST_SHARE and all(form & said for form in telling))
            if is_carried or is_verdict(wanted):
                rank = (is_whole, round(share, 6) if not is_verdict(wanted) else 0.0, cover)
                if best is None or rank > best[0]:
                    best = rank, Carrier(document, sentence, is_whole, cover)
    return best[1] if best else None


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
        (place, f" {normalize_words(sentence)} ", stems_of(f"{titles[place]} {sentence}"))
        for place, document in enumerate(documents)
        for sentence in shown_sentences((document.content or "")[:_MAX_READ])
    ]
    chain, said = {own}, [f" {normalize_words(carrier.sentence)} "]
    held = set(stems_of(f"{titles[own]} {carrier.sentence}"))
    cover = alone = sum_of_weights(asked, held)
    for _ in range(_LINKS):
        linked = [
            (sum_of_weights(asked, held | stems), place, words, stems)
            for place, words, stems in sentences
            if any(keys[other] and f" {keys[other]} " in words for other in chain - {place})
            or (place not in chain and keys[place] and any(f" {keys[place]} " in text for text in said))
        ]
        best = max(linked, key=lambda link: link[0], default=None)
        if best is None or best[0] <= cover:
            break
        cover, place, words, stems = best
        chain.add(place)
        said.append(words)
        held |= stems
    return alone, cover - alone


def _is_telling(word: str) -> bool:
    """Check whether a word is a number or a name, which another word cannot stand for."""
    return any(character.isdigit() for character in word) or word[:1].isupper()


# Cached, because each sentence of a longer answer is compared with the same sentences of the passages.
@lru_cache(maxsize=4_096)
def _forms(text: str) -> frozenset[str]:
    """Return the words of a text in lower case, numbers without separators, and each word's stem."""
    words = [word.lower().replace("\u2019", "'") for word in _TOKEN.findall(text)]
    plain = {re.sub(r"(?<=\d)[,.](?=\d{3}\b)", "", word) for word in words}
    parts = {part for word in words for part in re.split(r"[/:-]", word) if part}
    stems = {word[:5].rstrip("s") for word in plain | parts if word.isalpha() and len(word) > 3}
    return frozenset(plain | parts | stems)


def _text(document: Document) -> str:
    return f"{document.meta.get('title') or ''} {(document.content or '')[:_MAX_READ]}"
