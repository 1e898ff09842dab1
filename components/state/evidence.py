"""The evidence of a run: the sentences that are nearest to the question, and the best sentence of each search.

The result of a run shows these sentences to the user. Sentences are compared by their words: a sentence scores high if
it contains many words of the question, above all rare words. If two sentences are equally good, the newer is preferred.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import log
from operator import itemgetter
from typing import Any

from haystack import Document

from prefrag.components.state.newness import date_of, version_of
from prefrag.components.state.places import SECTIONS, standing_of
from prefrag.components.state.state import Evidence, Identity, State, identity
from prefrag.components.text.code_spelling import spell_codes
from prefrag.components.text.sentences import cut_text, ends_with_stop, sentence_spans, shown_sentences
from prefrag.components.text.term_statistics import PLAIN_WORDS, sum_of_weights, words
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS

# At most this many sentences are shown.
_MAX_SENTENCES = 5
# The first sentences shown, at most this many, are those nearest to the question. The others come from the searches.
_NEAREST = 3
# A document may be a book, so only its beginning is read.
# To find the one sentence of a document that is nearest to a query, this many characters are read.
_MAX_READ = 6_000
# To rank all sentences of several documents, this many characters of each document are read.
_MAX_RANKED = 60_000
# A word or a number: "museum", "2024".
_WORD = re.compile(r"\w+")
# A letter of a script that writes no blanks between words, such as Chinese.
_UNSPACED = re.compile(f"[{UNSPACED_SCRIPTS}]")
# A letter or digit of any other script.
_SPACED = rf"[^\W{UNSPACED_SCRIPTS}]"
# A number, also with separators: "2023", "1,250.50".
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# The score of a sentence begins with the share of the question's words, from 0 to 1, that the sentence and the title of
# its document contain. The following five weights change the score.
# If the extractive reader found an answer in the sentence: the answer's probability, times this weight, is added.
_READ_WEIGHT = 0.25
# If the sentence before contains further words of the question: their share, times this weight, is added.
_BEFORE_WEIGHT = 0.4
# The share of the question's words that the sentence contains without the title, times this weight, is added.
_OWN_WEIGHT = 0.1
# If the question asks for a number and the sentence contains a digit, this weight is added.
_NUMBER_WEIGHT = 0.2
# If the sentence is only a line, such as a letterhead, this weight is subtracted.
_LINE_WEIGHT = 0.5
# A question that asks for a number or a date, in English, German or French: "When does it open?", "How much is it?".
_ASKS_NUMBER = re.compile(r"\b(?:when|how (?:much|many)|wann|wie ?viele?|quand|combien)\b", re.IGNORECASE)
# Answers that are not copied from a document. A text that contains the word "no" does not support the answer "no".
_NOT_IN_TEXTS = frozenset(("", "yes", "no"))


def find_evidence(state: State) -> list[Evidence]:
    """Choose the sentences to show: those nearest to the question, and the best sentence of each search.

    The sentence with the last answer that was proposed is added. It comes fourth if the extractive reader proposed it,
    because the order already follows the reader's probabilities. It comes second if a language model did.

    :param state: The state of a run.
    :returns: At most five sentences, the most important first.
    """
    steps_with_evidence = [step for step in state.steps if step.evidence]
    proposed: tuple[Evidence, ...] = ()
    is_of_model = False
    if steps_with_evidence:
        proposed = steps_with_evidence[-1].evidence
        # The extractive reader writes no reply. A heading, or a sentence that does not hold any more, does not come
        # before sentences that are nearer to the question.
        is_of_model = bool(steps_with_evidence[-1].reply) and _is_current(proposed[0])
        is_of_model = is_of_model and not is_heading(proposed[0].sentence, proposed[0].document.meta)
    nearest = _rank_for_question(state, proposed)

    # The sentences that come first: the nearest, that of the proposed answer, and the best sentence of each search.
    before_proposed = 1 if is_of_model else _NEAREST
    first = [*nearest[:before_proposed], *proposed[:1], *nearest[before_proposed:_NEAREST]]
    searches = [(step.query, step.documents) for step in state.steps]
    for query, documents in [("", state.attached), *searches]:
        for evidence in rank_sentences(query or state.question, documents, state.question):
            if not is_heading(evidence.sentence, evidence.document.meta):
                first.append(evidence)
                break

    # Several passages may have the same sentence, such as the name of a club above each list. The sentence is then
    # shown once.
    chosen: dict[str, Evidence] = {}
    for evidence in (*first, *nearest, *proposed[1:]):
        words_of_sentence = " ".join(_WORD.findall(evidence.sentence.lower()))
        chosen.setdefault(words_of_sentence or evidence.sentence, evidence)
    return list(chosen.values())[:_MAX_SENTENCES]


def _rank_for_question(state: State, reader_evidence: Sequence[Evidence]) -> list[Evidence]:
    """Rank the sentences of all documents by the question's words, and by the extractive reader's answers.

    ``reader_evidence`` are the sentences in which the extractive reader found answers.
    """
    asked = _stems(spell_codes(state.question, [document.content or "" for document in _documents(state)]))
    sentences, sentences_before = _candidates(state, reader_evidence, asked)
    are_current = [_is_current(evidence) for evidence in sentences]
    scores = _score_for_question(state.question, asked, sentences, sentences_before, are_current)

    # Of sentences with equal scores, those of current documents come first. Among these, the newest comes first.
    groups: dict[tuple[float, bool], list[Evidence]] = defaultdict(list)
    for score, is_current, evidence in zip(scores, are_current, sentences, strict=True):
        groups[-score, not is_current].append(evidence)
    ordered = []
    for _, group in sorted(groups.items(), key=itemgetter(0)):
        ordered += _newest_first(group)

    # Sentences that differ only in their numbers probably say the same about different times, such as last year's price
    # and this year's price. Such sentences exchange their places: the newest gets the first of their places.
    places_of_alike: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for place, evidence in enumerate(ordered):
        without_numbers = _NUMBER.sub("0", evidence.sentence)
        places_of_alike[without_numbers, _is_current(evidence)].append(place)
    for places in places_of_alike.values():
        newest = _newest_first([ordered[place] for place in places])
        for place, evidence in zip(places, newest, strict=True):
            ordered[place] = evidence
    return ordered


def _score_for_question(
    question: str,
    asked: set[str],
    sentences: Sequence[Evidence],
    sentences_before: Sequence[str],
    are_current: Sequence[bool],
) -> list[float]:
    """Compute the score of each sentence. The weights above say what counts.

    ``asked`` are the stems of the question. ``are_current`` says for each sentence whether its document is current.
    """
    stems = [_stems(evidence.sentence) for evidence in sentences]
    # The stems of each sentence, and those of the title of its document.
    stems_with_titles = []
    for evidence, own_stems in zip(sentences, stems, strict=True):
        title = str(evidence.document.meta.get("title") or "")
        stems_with_titles.append(own_stems | _stems(title))
    weights = _weights(stems_with_titles, asked)
    covers = [sum_of_weights(weights, own_stems) for own_stems in stems_with_titles]
    # The best sentence has the share 1.
    total = max(covers, default=0.0) or 1.0
    asks_number = _ASKS_NUMBER.search(question) is not None

    scores: list[float] = []
    for place, evidence in enumerate(sentences):
        with_before = sum_of_weights(weights, stems_with_titles[place] | _stems(sentences_before[place]))
        without_title = sum_of_weights(weights, stems[place])
        cover = covers[place] + _BEFORE_WEIGHT * (with_before - covers[place])
        score = (cover + _OWN_WEIGHT * without_title) / total
        if are_current[place]:
            # An answer that the reader finds in a draft or an old document does not raise that sentence's score.
            # Otherwise the sentence could come before one of a current document.
            score += _READ_WEIGHT * evidence.share
        if asks_number and any(map(str.isdigit, evidence.sentence)):
            score += _NUMBER_WEIGHT
        if _is_line(evidence.sentence):
            score -= _LINE_WEIGHT
        scores.append(round(score, 9))
    return scores


def _candidates(state: State, reader_evidence: Sequence[Evidence], asked: set[str]) -> tuple[list[Evidence], list[str]]:
    """Find the sentences that contain a word of the question or an answer of the reader.

    Headings are left out. A second list has the sentence that stands before each sentence in its document.
    """
    # For each sentence with an answer of the reader, the probability of its answers together.
    shares: dict[tuple[Identity, str], float] = defaultdict(float)
    for evidence in reader_evidence:
        shares[identity(evidence.document), evidence.sentence] += evidence.share
    highest_share = max(shares.values(), default=0.0) or 1.0

    sentences: list[Evidence] = []
    sentences_before: list[str] = []
    for document in _documents(state):
        key = identity(document)
        sentences_of_document = shown_sentences(cut_text(document.content or "", _MAX_RANKED))
        for previous, sentence in pairwise(["", *sentences_of_document]):
            has_answer = (key, sentence) in shares
            if not has_answer and asked.isdisjoint(_stems(sentence)):
                continue
            if not is_heading(sentence, document.meta):
                share = shares.get((key, sentence), 0.0) / highest_share
                sentences.append(Evidence(document, sentence, state.question, share))
                sentences_before.append(previous)
    return sentences, sentences_before


def _documents(state: State) -> list[Document]:
    """List the documents of a run, each once."""
    documents = {identity(document): document for document in state.attached}
    for step in state.steps:
        documents |= {identity(document): document for document in step.documents}
    return list(documents.values())


def _is_current(evidence: Evidence) -> bool:
    """Check whether the sentence's document is current: not superseded, not a draft, not old."""
    return standing_of(evidence.document.meta) is None


def _is_line(sentence: str) -> bool:
    """Check whether a text is only a line, such as the letterhead "The Harbour Museum, 5 Quay".

    A sentence ends with a stop, and is no such line. Nor is a name with a value, such as "Price: 5".
    """
    return not ends_with_stop(sentence) and ": " not in sentence


def _newest_first(sentences: Sequence[Evidence]) -> list[Evidence]:
    """Sort sentences so that the newest comes first.

    Sentences with a date are sorted by it. Sentences without a date are compared if their files are versions of one
    file, such as "lease v1" and "lease v2". A sentence that can be compared with none keeps its position.
    """
    ordered = list(sentences)
    # Only dates that begin with a year of four digits can be compared as texts.
    dated_places = [place for place, evidence in enumerate(sentences) if _date(evidence)[:4].isdigit()]
    _sort_places(ordered, dated_places, _date)

    places_of_family: dict[object, list[int]] = defaultdict(list)
    for place, evidence in enumerate(ordered):
        if not date_of(evidence.document.meta):
            places_of_family[version_of(evidence.document.meta).family].append(place)
    for places in places_of_family.values():
        _sort_places(ordered, places, _version_rank)
    return ordered


def _sort_places(sentences: list[Evidence], places: Sequence[int], key: Callable[[Evidence], Any]) -> None:
    """Sort the sentences at these places of a list among each other, the one with the greatest key first."""
    greatest_first = sorted((sentences[place] for place in places), key=key, reverse=True)
    for place, evidence in zip(places, greatest_first, strict=True):
        sentences[place] = evidence


def _date(evidence: Evidence) -> str:
    """Return the date of a sentence's document, as its metadata has it; empty if there is no date."""
    return str(evidence.document.meta.get("date") or "")


def _version_rank(evidence: Evidence) -> tuple[bool, int, int]:
    """Return the rank by which versions of one file are ordered."""
    return version_of(evidence.document.meta).rank


def _stems(text: str) -> set[str]:
    """Return the first five letters of each word of a text, so that forms of a word become equal.

    Frequent words such as "the" are left out. Numbers stay whole. For example, ``_stems("The museums of 2024")`` and
    ``_stems("museum 2024")`` both return ``{"museu", "2024"}``.
    """
    stems = set()
    for word in _WORD.findall(text.lower()):
        if word[-1].isdigit():
            # A number is compared whole, because 107123 and 107124 begin alike.
            stems.add(word)
        elif word not in PLAIN_WORDS:
            first_letters = word[:5]
            stems.add(first_letters.rstrip("s"))
    return stems


def is_heading(sentence: str, meta: Mapping[str, object]) -> bool:
    """Check whether a sentence is the title of its document, or the heading of one of its sections.

    Only the words are compared. For example, "Opening hours." is a heading if ``meta["heading"]`` is
    "Museum > Opening hours".

    :param sentence: The sentence.
    :param meta: The metadata of the document that contains the sentence.
    :returns: True if the sentence is a title or a heading.
    """
    title = str(meta.get("title") or "")
    heading = str(meta.get("heading") or "")
    titles = [title, *heading.split(" > ")]
    # Each line has the place of a section, a blank, and the path of its heading.
    for line in str(meta.get(SECTIONS) or "").split("\n"):
        _, _, path = line.partition(" ")
        titles += path.split(" > ")
    words_of_sentence = _WORD.findall(sentence.lower())
    return any(_WORD.findall(text.lower()) == words_of_sentence for text in titles)


def rank_sentences(
    query: str, documents: Sequence[Document], question: str = "", split: Callable[[str], list[str]] = shown_sentences
) -> list[Evidence]:
    """Rank the sentences of documents by the words of a query that they contain. Rare words weigh more.

    For example, of "The museum opens at nine." and "The café is called Lumen.", the second is nearer to the query "café
    name".

    :param query: The query.
    :param documents: The documents. The title of a document counts for each of its sentences.
    :param question: The question, whose words count as well.
    :param split: The function that splits a text into sentences.
    :returns: All sentences, the best first. Equal sentences keep the order of the documents.
    """
    sentences: list[Evidence] = []
    words_of_sentences: list[set[str]] = []
    for document in documents:
        title = words(str(document.meta.get("title") or ""))
        for sentence in split(cut_text(document.content or "", _MAX_RANKED)):
            sentences.append(Evidence(document, sentence, query))
            words_of_sentences.append({*title, *words(sentence)})
    weights = _weights(words_of_sentences, {*words(query), *words(question)})
    scores = [sum_of_weights(weights, own_words) for own_words in words_of_sentences]
    best_first = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    return [sentences[place] for place in best_first]


def find_sentence(text: str, query: str, question: str, answer: str = "") -> tuple[int, int] | None:
    """Find the sentence of a text that is nearest to an answer. Without an answer, find the one nearest to a query.

    For example, in the text "The museum opens at nine. The café is called Lumen.", the query "café name" finds the
    second sentence, and the result is ``(26, 51)``.

    :param text: The text. Only its first 6,000 characters are read.
    :param query: The query that found the text.
    :param question: The question of the run. Its words decide between sentences that are otherwise equal.
    :param answer: The answer; empty if there is none.
    :returns: The positions in the text at which the sentence begins and ends. None if no sentence has a word in common
        with the answer, the query or the question.
    """
    spans = sentence_spans(cut_text(text, _MAX_READ))
    sentences = [text[begin:end].lower() for begin, end in spans]
    words_of_answer = set(words(answer))
    words_of_query = set(words(query))
    words_of_question = set(words(question))
    wanted = words_of_answer | words_of_query | words_of_question
    words_of_sentences = [wanted.intersection(_WORD.findall(sentence)) for sentence in sentences]
    weights = _weights(words_of_sentences, wanted)

    # The scores are tuples, so the answer decides before the query, and the query before the question.
    scores = []
    for sentence, own_words in zip(sentences, words_of_sentences, strict=True):
        score = (
            # The whole answer is searched for, too, because `words` leaves out words with fewer than four letters. An
            # answer such as "42" or "Bo" has no longer word.
            bool(find_whole(answer, sentence)),
            sum_of_weights(weights, own_words & words_of_answer),
            sum_of_weights(weights, own_words & words_of_query),
            sum_of_weights(weights, own_words & words_of_question),
        )
        scores.append(score)
    best = max(range(len(scores)), key=scores.__getitem__, default=None)
    if best is None or not any(scores[best]):
        return None
    return spans[best]


def find_whole(answer: str, text: str) -> re.Match[str] | None:
    """Find an answer in a text, as whole words. Upper and lower case are treated as equal.

    For example, "Lumen" is found in "the lumen", but not in "Lumens". In a script without blanks between words, such as
    Chinese, other characters may stand directly beside the answer.

    :param answer: The answer.
    :param text: The text.
    :returns: The first match. None if there is none, or if the answer is empty, yes or no.
    """
    if answer.lower() in _NOT_IN_TEXTS:
        return None
    is_ascii = answer.isascii() and text.isascii()
    if is_ascii and answer.lower() not in text.lower():
        # The regular expression would find nothing either, but more slowly.
        return None
    # No letter of a script with blanks may stand directly before the answer, or directly behind it.
    begin = "" if _UNSPACED.match(answer) else f"(?<!{_SPACED})"
    last_letter = answer[-1]
    end = "" if _UNSPACED.match(last_letter) else f"(?!{_SPACED})"
    whole_answer = begin + re.escape(answer) + end
    return re.search(whole_answer, text, re.IGNORECASE)


def _weights(words_of_sentences: Sequence[set[str]], wanted: set[str]) -> Mapping[str, float]:
    """Compute a weight for each wanted word that a sentence has. The fewer sentences have the word, the larger it is.

    For example, in two sentences with the words {a, b} and {a}, the weight of "b" is 1.10 and that of "a" is 0.69.
    """
    # The number of sentences that have each word.
    counts: Counter[str] = Counter()
    for own_words in words_of_sentences:
        counts.update(own_words & wanted)
    weights = {}
    for word, count in sorted(counts.items()):
        weights[word] = log(1 + len(words_of_sentences) / count)
    return weights
