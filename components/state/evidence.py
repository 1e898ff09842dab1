"""The evidence of a run: the sentences that are nearest to the question, and the best sentence of each search."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, pairwise
from math import log

from haystack import Document

from prefrag.components.state.newness import date_of, version_of
from prefrag.components.state.places import SECTIONS, standing_of
from prefrag.components.state.state import Evidence, Identity, State, identity
from prefrag.components.text.sentences import cut_text, ends_with_stop, sentence_spans, shown_sentences
from prefrag.components.text.term_statistics import PLAIN_WORDS, sum_of_weights, words
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS

_MAX_SENTENCES = 5
# A document may be a book, so only its first characters are read.
_MAX_READ = 6_000  # to find one sentence
_MAX_RANKED = 60_000  # to rank all sentences
_WORD = re.compile(r"\w+")
_UNSPACED, _SPACED = re.compile(f"[{UNSPACED_SCRIPTS}]"), rf"[^\W{UNSPACED_SCRIPTS}]"
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NEAREST = 3
# A sentence scores up to 1 for words of the question, plus up to this much if the extractive reader answers from it.
_READ_WEIGHT = 0.25
# It scores this share of what the sentence before it, or its own words rather than the title's, have of the question.
_BEFORE_WEIGHT, _OWN_WEIGHT = 0.4, 0.1
# It scores this for a number where one is asked for, and loses this if it is only a line, such as a letterhead.
_NUMBER_WEIGHT, _LINE_WEIGHT = 0.2, 0.5
_ASKS_NUMBER = re.compile(r"\b(?:when|how (?:much|many)|wann|wie ?viele?|quand|combien)\b", re.IGNORECASE)
# Answers that are not copied from a document. A text that contains the word "no" does not support the answer "no".
_NOT_IN_TEXTS = frozenset(("", "yes", "no"))


def find_evidence(state: State) -> list[Evidence]:
    """Choose the sentences nearest to the question, the likeliest answer's sentence, and the best of each search."""
    read = next((step.evidence for step in reversed(state.steps) if step.evidence), ())
    nearest = _rank_for_question(state, read)
    first = [*nearest[:_NEAREST], *read[:1]]
    for query, documents in (("", state.attached), *((step.query, step.documents) for step in state.steps)):
        ranked = rank_sentences(query or state.question, documents, state.question)
        first += [evidence for evidence in ranked if not is_heading(evidence.sentence, evidence.document.meta)][:1]
    # Several passages may have the same sentence, such as the name of a club above each list. It is shown once.
    chosen: dict[str, Evidence] = {}
    for evidence in (*first, *nearest, *read[1:]):
        chosen.setdefault(" ".join(_WORD.findall(evidence.sentence.lower())) or evidence.sentence, evidence)
    return list(chosen.values())[:_MAX_SENTENCES]


def _rank_for_question(state: State, read: Sequence[Evidence]) -> list[Evidence]:
    """Rank the sentences of all documents by the question's words, and by the extractive reader's answers (`read`)."""
    every = (*state.attached, *(document for step in state.steps for document in step.documents))
    documents = {identity(document): document for document in every}.values()
    asked = _stems(state.question)
    shares: dict[tuple[Identity, str], float] = defaultdict(float)
    for evidence in read:
        shares[identity(evidence.document), evidence.sentence] += evidence.share
    top = max(shares.values(), default=0.0) or 1.0
    sentences: list[Evidence] = []
    before: list[str] = []
    for document in documents:
        said = shown_sentences(cut_text(document.content or "", _MAX_RANKED))
        for previous, sentence in pairwise(["", *said]):
            is_read = (identity(document), sentence) in shares
            if (asked & _stems(sentence) or is_read) and not is_heading(sentence, document.meta):
                share = shares.get((identity(document), sentence), 0.0) / top
                sentences.append(Evidence(document, sentence, state.question, share))
                before.append(previous)
    stems = [_stems(evidence.sentence) for evidence in sentences]
    words_of_sentences = [
        own | _stems(str(evidence.document.meta.get("title") or ""))
        for evidence, own in zip(sentences, stems, strict=True)
    ]
    weights = _weights(words_of_sentences, asked)
    covers = [sum_of_weights(weights, own) for own in words_of_sentences]
    total = max(covers, default=0.0) or 1.0
    current = [standing_of(evidence.document.meta) is None for evidence in sentences]
    asks_number = _ASKS_NUMBER.search(state.question) is not None
    scores: list[float] = []
    for place, evidence in enumerate(sentences):
        around = sum_of_weights(weights, words_of_sentences[place] | _stems(before[place]))
        score = covers[place] + _BEFORE_WEIGHT * (around - covers[place])
        score = (score + _OWN_WEIGHT * sum_of_weights(weights, stems[place])) / total
        # What the reader reads in a draft, or in an old document, does not put it before a current one.
        score += _READ_WEIGHT * evidence.share * current[place]
        score += _NUMBER_WEIGHT * (asks_number and any(map(str.isdigit, evidence.sentence)))
        scores.append(round(score - _LINE_WEIGHT * _is_line(evidence.sentence), 9))
    ranked = sorted(range(len(scores)), key=lambda place: (-scores[place], not current[place]))
    groups = groupby(ranked, key=lambda place: (scores[place], current[place]))
    ordered = [evidence for _, group in groups for evidence in _newest_first([sentences[place] for place in group])]
    # What differs in numbers only says the same of another time.
    alike: dict[tuple[str, bool], list[int]] = {}
    for place, evidence in enumerate(ordered):
        form = (_NUMBER.sub("0", evidence.sentence), standing_of(evidence.document.meta) is None)
        alike.setdefault(form, []).append(place)
    for places in alike.values():
        for place, evidence in zip(places, _newest_first([ordered[place] for place in places]), strict=True):
            ordered[place] = evidence
    return ordered


def _is_line(sentence: str) -> bool:
    """Check whether a text is a line such as a letterhead: no sentence, and no name with a value as in a table."""
    return not ends_with_stop(sentence) and ": " not in sentence


def _newest_first(equal: Sequence[Evidence]) -> list[Evidence]:
    """Put the newer of two sentences first, by date or by the versions of a file. Others keep their positions."""
    dates = [str(evidence.document.meta.get("date") or "") for evidence in equal]
    dated = [place for place, date in enumerate(dates) if date[:4].isdigit()]
    newest = sorted(dated, key=dates.__getitem__, reverse=True)
    order = dict(zip(dated, newest, strict=True))
    ordered = [equal[order.get(place, place)] for place in range(len(equal))]
    families: dict[object, list[int]] = {}
    for place, evidence in enumerate(ordered):
        if not date_of(evidence.document.meta):
            families.setdefault(version_of(evidence.document.meta).family, []).append(place)
    for own in families.values():
        latest = sorted(own, key=lambda place: version_of(ordered[place].document.meta).rank, reverse=True)
        for place, evidence in zip(own, [ordered[place] for place in latest], strict=True):
            ordered[place] = evidence
    return ordered


def _stems(text: str) -> set[str]:
    # A number is compared whole, because 107123 and 107124 begin alike.
    words_of_text = (word for word in _WORD.findall(text.lower()) if word not in PLAIN_WORDS)
    return {word if word[-1].isdigit() else word[:5].rstrip("s") for word in words_of_text}


def is_heading(sentence: str, meta: Mapping[str, object]) -> bool:
    """Check whether a sentence is the title of its document or of its section."""
    starts = str(meta.get(SECTIONS) or "").split("\n")
    paths = (str(meta.get("heading") or ""), *(line.partition(" ")[2] for line in starts))
    titles = (meta.get("title"), *(title for path in paths for title in path.split(" > ")))
    return _WORD.findall(sentence.lower()) in [_WORD.findall(str(title or "").lower()) for title in titles]


def rank_sentences(
    query: str, documents: Sequence[Document], question: str = "", split: Callable[[str], list[str]] = shown_sentences
) -> list[Evidence]:
    """Rank the sentences of documents by the words of a query that they contain; rare words weigh more."""
    split_up = [(document, split(cut_text(document.content or "", _MAX_RANKED))) for document in documents]
    sentences = [(document, sentence) for document, own in split_up for sentence in own]
    titles = ((words(str(document.meta.get("title") or "")), own) for document, own in split_up)
    words_of_sentences = [{*title, *words(sentence)} for title, own in titles for sentence in own]
    weights = _weights(words_of_sentences, {*words(query), *words(question)})
    scores = [sum_of_weights(weights, own) for own in words_of_sentences]
    return [
        Evidence(*sentences[place], query) for place in sorted(range(len(scores)), key=lambda place: -scores[place])
    ]


def find_sentence(text: str, query: str, question: str, answer: str = "") -> tuple[int, int] | None:
    """Find the begin and end of the sentence that is nearest to an answer or, if there is no answer, to a query."""
    spans = sentence_spans(cut_text(text, _MAX_READ))
    sentences = [text[begin:end].lower() for begin, end in spans]
    wanted = [set(words(text_asked)) for text_asked in (answer, query, question)]
    every = set().union(*wanted)
    words_of_sentences = [every.intersection(_WORD.findall(sentence)) for sentence in sentences]
    weights = _weights(words_of_sentences, every)
    # Also search for the whole answer: `words` leaves out words under four letters, such as 42 or Bo.
    scores = [
        (bool(find_whole(answer, sentence)), *(sum_of_weights(weights, own & aim) for aim in wanted))
        for sentence, own in zip(sentences, words_of_sentences, strict=True)
    ]
    best = max(range(len(scores)), key=scores.__getitem__, default=None)
    return spans[best] if best is not None and any(scores[best]) else None


def find_whole(answer: str, text: str) -> re.Match[str] | None:
    """Find an answer in a text, as whole words; upper and lower case are the same.

    An end of the answer in a script without blanks, such as Chinese, may have further characters beside it.
    """
    is_plain = answer.isascii() and text.isascii()
    if answer.lower() in _NOT_IN_TEXTS or (is_plain and answer.lower() not in text.lower()):
        return None
    begin = "" if _UNSPACED.match(answer) else f"(?<!{_SPACED})"
    end = "" if _UNSPACED.match(answer[-1]) else f"(?!{_SPACED})"
    return re.search(f"{begin}{re.escape(answer)}{end}", text, re.IGNORECASE)


def _weights(words_of_sentences: Sequence[set[str]], wanted: set[str]) -> Mapping[str, float]:
    counts = Counter(word for own in words_of_sentences for word in own & wanted)
    return {word: log(1 + len(words_of_sentences) / count) for word, count in sorted(counts.items())}
