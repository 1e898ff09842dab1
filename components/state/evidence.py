"""The evidence of a run: the sentences that are nearest to the question, and the best sentence of each search."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import islice, pairwise
from math import log
from operator import itemgetter

from haystack import Document

from prefrag.components.state.newness import date_of, version_of
from prefrag.components.state.places import SECTIONS, standing_of
from prefrag.components.state.state import Evidence, Identity, State, identity
from prefrag.components.text.sentences import cut_text, ends_with_stop, sentence_spans, shown_sentences
from prefrag.components.text.term_statistics import PLAIN_WORDS, sum_of_weights, words
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS

# So many sentences are shown, and so many of them are chosen for the question alone.
_MAX_SENTENCES = 5
_NEAREST = 3
# A document may be a book, so only its first characters are read.
_MAX_READ = 6_000  # to find one sentence
_MAX_RANKED = 60_000  # to rank all sentences
_WORD = re.compile(r"\w+")
# A letter of a script that writes no blanks between words, such as Chinese, and a letter or digit of any other script.
_UNSPACED = re.compile(f"[{UNSPACED_SCRIPTS}]")
_SPACED = rf"[^\W{UNSPACED_SCRIPTS}]"
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# The score of a sentence for a question is the share of the question's words that the sentence and its title hold, from
# 0 to 1, and what the following five weights add or take off.
# The extractive reader answers from the sentence: its probability times this weight is added.
_READ_WEIGHT = 0.25
# The sentence before holds further words of the question: their share times this weight is added.
_BEFORE_WEIGHT = 0.4
# The share of words that the sentence holds without its title, times this weight, is added.
_OWN_WEIGHT = 0.1
# Added if the question asks for a number and the sentence has one.
_NUMBER_WEIGHT = 0.2
# Taken off if the sentence is only a line, such as a letterhead.
_LINE_WEIGHT = 0.5
_ASKS_NUMBER = re.compile(r"\b(?:when|how (?:much|many)|wann|wie ?viele?|quand|combien)\b", re.IGNORECASE)
# Answers that are not copied from a document. A text that contains the word "no" does not support the answer "no".
_NOT_IN_TEXTS = frozenset(("", "yes", "no"))


def find_evidence(state: State) -> list[Evidence]:
    """Choose the sentences nearest to the question, the likeliest answer's sentence, and the best of each search."""
    read = next((step.evidence for step in reversed(state.steps) if step.evidence), ())
    nearest = _rank_for_question(state, read)
    first = [*nearest[:_NEAREST], *read[:1]]
    searches = [(step.query, step.documents) for step in state.steps]
    for query, documents in [("", state.attached), *searches]:
        ranked = rank_sentences(query or state.question, documents, state.question)
        sentences = (evidence for evidence in ranked if not is_heading(evidence.sentence, evidence.document.meta))
        first += islice(sentences, 1)
    # Several passages may have the same sentence, such as the name of a club above each list. It is shown once.
    chosen: dict[str, Evidence] = {}
    for evidence in (*first, *nearest, *read[1:]):
        words_of_sentence = " ".join(_WORD.findall(evidence.sentence.lower()))
        chosen.setdefault(words_of_sentence or evidence.sentence, evidence)
    return list(chosen.values())[:_MAX_SENTENCES]


def _rank_for_question(state: State, read: Sequence[Evidence]) -> list[Evidence]:
    """Rank the sentences of all documents by the question's words, and by the extractive reader's answers (`read`)."""
    asked = _stems(state.question)
    sentences, before = _candidates(state, read, asked)
    stems = [_stems(evidence.sentence) for evidence in sentences]
    words_of_sentences = []
    for evidence, own in zip(sentences, stems, strict=True):
        words_of_sentences.append(own | _stems(str(evidence.document.meta.get("title") or "")))
    weights = _weights(words_of_sentences, asked)
    covers = [sum_of_weights(weights, own) for own in words_of_sentences]
    total = max(covers, default=0.0) or 1.0
    current = [_is_current(evidence) for evidence in sentences]
    asks_number = _ASKS_NUMBER.search(state.question) is not None

    scores: list[float] = []
    for place, evidence in enumerate(sentences):
        with_before = sum_of_weights(weights, words_of_sentences[place] | _stems(before[place]))
        without_title = sum_of_weights(weights, stems[place])
        cover = covers[place] + _BEFORE_WEIGHT * (with_before - covers[place])
        score = (cover + _OWN_WEIGHT * without_title) / total
        if current[place]:
            # What the reader reads in a draft, or in an old document, does not put it before a current one.
            score += _READ_WEIGHT * evidence.share
        if asks_number and any(map(str.isdigit, evidence.sentence)):
            score += _NUMBER_WEIGHT
        if _is_line(evidence.sentence):
            score -= _LINE_WEIGHT
        scores.append(round(score, 9))

    # Of sentences with equal scores, those of current documents come first, and of these the newest.
    groups: dict[tuple[float, bool], list[Evidence]] = defaultdict(list)
    for score, is_current, evidence in zip(scores, current, sentences, strict=True):
        groups[-score, not is_current].append(evidence)
    ordered = []
    for _, equal in sorted(groups.items(), key=itemgetter(0)):
        ordered += _newest_first(equal)

    # Sentences that differ only in their numbers are taken to say the same of different times. Together they keep their
    # places, but the newest stands in the first of these places, the next in the second.
    alike: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for place, evidence in enumerate(ordered):
        alike[_NUMBER.sub("0", evidence.sentence), _is_current(evidence)].append(place)
    for places in alike.values():
        newest = _newest_first([ordered[place] for place in places])
        for place, evidence in zip(places, newest, strict=True):
            ordered[place] = evidence
    return ordered


def _candidates(state: State, read: Sequence[Evidence], asked: set[str]) -> tuple[list[Evidence], list[str]]:
    """Find the sentences with a word of the question, or with an answer of the reader; also the text before each."""
    shares: dict[tuple[Identity, str], float] = defaultdict(float)
    for evidence in read:
        shares[identity(evidence.document), evidence.sentence] += evidence.share
    top = max(shares.values(), default=0.0) or 1.0

    documents = {identity(document): document for document in state.attached}
    for step in state.steps:
        documents |= {identity(document): document for document in step.documents}

    sentences: list[Evidence] = []
    before: list[str] = []
    for key, document in documents.items():
        said = shown_sentences(cut_text(document.content or "", _MAX_RANKED))
        for previous, sentence in pairwise(["", *said]):
            is_candidate = asked & _stems(sentence) or (key, sentence) in shares
            if is_candidate and not is_heading(sentence, document.meta):
                share = shares.get((key, sentence), 0.0) / top
                sentences.append(Evidence(document, sentence, state.question, share))
                before.append(previous)
    return sentences, before


def _is_current(evidence: Evidence) -> bool:
    return standing_of(evidence.document.meta) is None


def _is_line(sentence: str) -> bool:
    """Check whether a text is a line such as a letterhead: no sentence, and no name with a value as in a table."""
    return not ends_with_stop(sentence) and ": " not in sentence


def _newest_first(equal: Sequence[Evidence]) -> list[Evidence]:
    """Put the newer of two sentences first, by date or by the versions of a file. Others keep their positions."""
    ordered = list(equal)
    dated = [place for place, evidence in enumerate(equal) if _date(evidence)[:4].isdigit()]
    newest = sorted((equal[place] for place in dated), key=_date, reverse=True)
    for place, evidence in zip(dated, newest, strict=True):
        ordered[place] = evidence

    families: dict[object, list[int]] = defaultdict(list)
    for place, evidence in enumerate(ordered):
        if not date_of(evidence.document.meta):
            families[version_of(evidence.document.meta).family].append(place)
    for places in families.values():
        latest = sorted((ordered[place] for place in places), key=_version_rank, reverse=True)
        for place, evidence in zip(places, latest, strict=True):
            ordered[place] = evidence
    return ordered


def _date(evidence: Evidence) -> str:
    return str(evidence.document.meta.get("date") or "")


def _version_rank(evidence: Evidence) -> tuple[bool, int, int]:
    return version_of(evidence.document.meta).rank


def _stems(text: str) -> set[str]:
    """Return the beginnings of a text's words, by which forms of a word are equal: "museum" as "museums" is "museu"."""
    stems = set()
    for word in _WORD.findall(text.lower()):
        if word[-1].isdigit():
            # A number is compared whole, because 107123 and 107124 begin alike.
            stems.add(word)
        elif word not in PLAIN_WORDS:
            stems.add(word[:5].rstrip("s"))
    return stems


def is_heading(sentence: str, meta: Mapping[str, object]) -> bool:
    """Check whether a sentence is the title of its document or of its section."""
    titles = [str(meta.get("title") or ""), *str(meta.get("heading") or "").split(" > ")]
    for line in str(meta.get(SECTIONS) or "").split("\n"):
        _, _, path = line.partition(" ")
        titles += path.split(" > ")
    words_of_sentence = _WORD.findall(sentence.lower())
    return any(_WORD.findall(title.lower()) == words_of_sentence for title in titles)


def rank_sentences(
    query: str, documents: Sequence[Document], question: str = "", split: Callable[[str], list[str]] = shown_sentences
) -> list[Evidence]:
    """Rank the sentences of documents by the words of a query that they contain; rare words weigh more."""
    sentences: list[Evidence] = []
    words_of_sentences: list[set[str]] = []
    for document in documents:
        title = words(str(document.meta.get("title") or ""))
        for sentence in split(cut_text(document.content or "", _MAX_RANKED)):
            sentences.append(Evidence(document, sentence, query))
            words_of_sentences.append({*title, *words(sentence)})
    weights = _weights(words_of_sentences, {*words(query), *words(question)})
    scores = [sum_of_weights(weights, own) for own in words_of_sentences]
    best_first = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    return [sentences[place] for place in best_first]


def find_sentence(text: str, query: str, question: str, answer: str = "") -> tuple[int, int] | None:
    """Find the begin and end of the sentence that is nearest to an answer or, if there is no answer, to a query."""
    spans = sentence_spans(cut_text(text, _MAX_READ))
    sentences = [text[begin:end].lower() for begin, end in spans]
    words_of_answer, words_of_query, words_of_question = set(words(answer)), set(words(query)), set(words(question))
    wanted = words_of_answer | words_of_query | words_of_question
    words_of_sentences = [wanted.intersection(_WORD.findall(sentence)) for sentence in sentences]
    weights = _weights(words_of_sentences, wanted)
    scores = []
    for sentence, own in zip(sentences, words_of_sentences, strict=True):
        score = (
            # Also search for the whole answer: `words` leaves out words under four letters, such as 42 or Bo.
            bool(find_whole(answer, sentence)),
            sum_of_weights(weights, own & words_of_answer),
            sum_of_weights(weights, own & words_of_query),
            sum_of_weights(weights, own & words_of_question),
        )
        scores.append(score)
    best = max(range(len(scores)), key=scores.__getitem__, default=None)
    if best is None or not any(scores[best]):
        return None
    return spans[best]


def find_whole(answer: str, text: str) -> re.Match[str] | None:
    """Find an answer in a text, as whole words; upper and lower case are the same.

    An end of the answer in a script without blanks, such as Chinese, may have further characters beside it.
    """
    if answer.lower() in _NOT_IN_TEXTS:
        return None
    is_ascii = answer.isascii() and text.isascii()
    if is_ascii and answer.lower() not in text.lower():
        # The regular expression would find nothing either, but more slowly.
        return None
    begin = "" if _UNSPACED.match(answer) else f"(?<!{_SPACED})"
    end = "" if _UNSPACED.match(answer[-1]) else f"(?!{_SPACED})"
    return re.search(f"{begin}{re.escape(answer)}{end}", text, re.IGNORECASE)


def _weights(words_of_sentences: Sequence[set[str]], wanted: set[str]) -> Mapping[str, float]:
    """Weigh the wanted words: the fewer sentences have a word, the more it weighs."""
    counts = Counter(word for own in words_of_sentences for word in own & wanted)
    return {word: log(1 + len(words_of_sentences) / count) for word, count in sorted(counts.items())}
