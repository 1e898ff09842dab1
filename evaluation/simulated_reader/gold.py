"""Read the gold passages of each question, and find them in prompts, for the simulated reader."""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Literal

from prefrag.components.prompts.quotation import quote_text, quote_title
from prefrag.components.text.sentences import plain_sentences
from prefrag.components.text.unicode_form import normalize_unicode
from prefrag.evaluation.datasets import load_questions, read_passages
from prefrag.evaluation.datasets.jsonl import SPLIT
from prefrag.evaluation.question import Question

logger = logging.getLogger(__name__)

_WORD = re.compile(r"\w+")
# A passage in a prompt: its title line and its quoted text, such as
#     [D3xk] Jaws
#     | Jaws is a film by Steven Spielberg.
# In place of the mark [D3xk], the title line may begin with "Title:". In transcripts, a label may precede the first
# title, as in "Observation: [D3xk] Jaws".
_HEADER = re.compile(
    r"^(?:Observation: |Passages: )?(?:\[(?P<mark>[ADW]?\d+[a-z]{2})\]|Title:) (?P<title>.*)(?P<text>(?:\n\|.*)*)$",
    re.MULTILINE,
)
# A passage, or a part of a passage, in a prompt that asks for a score of each passage or part.
_NUMBERED = re.compile(r"^\[(?P<number>\d+)\] (?P<title>.*)(?P<text>(?:\n\|.*)*)$", re.MULTILINE)
# The line that replaces a part of a passage that CRAG has dropped.
_DROPPED = re.compile(r"\n\| \.\.\.(?=\n|$)")
# The maximum number of characters between a title and its text: a line break, and the bar of a quoted line.
_BETWEEN = 8
# Under the rule ``half``, a yes/no question needs half of its gold passages, but at most this many.
_MOST_OF_HALF = 5

YesNo = Literal["one", "half", "all"]


def one_line(text: str) -> str:
    """Put a text on one line, so that a question is found even if a prompt breaks it into lines."""
    return " ".join(text.split())


def fold_words(text: str) -> str:
    """Return a text's words in lower case, with blanks around each, so that `in` finds only whole words."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def read_titles(text: str) -> list[str]:
    """Return the title of every passage in a prompt."""
    return [match["title"] for match in _HEADER.finditer(text)]


def read_numbered(text: str) -> list[tuple[str, str, str]]:
    """Return the number, title and quoted text of every passage in a prompt that asks for scores."""
    return [(match["number"], match["title"], match["text"]) for match in _NUMBERED.finditer(normalize_unicode(text))]


@dataclass(frozen=True)
class Passage:
    """A gold passage."""

    id: str
    title: str
    text: str
    source: str = ""  # in a split corpus, the source that holds the passage, or `both`

    @cached_property
    def quoted(self) -> tuple[str, str]:
        """Title and text as prompts quote them."""
        return normalize_unicode(quote_title(self.title)), normalize_unicode(quote_text(self.text))

    def holds(self, title: str, text: str) -> bool:
        """Check whether a title in a prompt, and the quoted text below this title, are from this passage."""
        own, whole = self.quoted
        part = _join_lines(text)
        return title == own and bool(part) and part in _join_lines(whole)


@dataclass(frozen=True)
class Shown:
    """The passages that a prompt shows."""

    # The citation mark of each shown gold passage, by id; empty in prompts without marks (summaries, plain prompts).
    gold: Mapping[str, str]
    irrelevant: int  # the number of other passages
    # The text of each shown gold passage, by id: the whole text, or the snippet that was shown.
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class GoldQuestion:
    """A question with its gold passages, and the rules for how many of them are enough to answer it."""

    question: Question
    passages: tuple[Passage, ...]  # the gold passages that the corpus holds
    yes_no: YesNo = "one"  # how many gold passages a yes/no question needs
    web_sentences: int = 0  # how many sentences of a passage the web shows; 0 for all

    @cached_property
    def _forms(self) -> tuple[Passage, ...]:
        """The gold passages, each followed by its snippet if the snippet shows what the question needs."""
        if not self.web_sentences:
            return self.passages
        forms = []
        for passage in self.passages:
            forms.append(passage)
            snippet = cut_to_sentences(passage.text, self.web_sentences)
            if snippet == passage.text or self.is_in_snippet(passage, snippet):
                forms.append(replace(passage, text=snippet))
        return tuple(forms)

    def find_shown(self, text: str) -> Shown:
        """Find the gold passages in a prompt, each below its title, and count the other passages."""
        gold: dict[str, str] = {}
        texts: dict[str, str] = {}
        relevant = set()
        # Normalise the Unicode form before comparing, because the prompt may have another form than the corpus file.
        text = normalize_unicode(text)
        shown = {match.end("title") + 1: match for match in _HEADER.finditer(text)}
        for passage in self._forms:
            for place in _places(passage, text):
                header = shown.get(place)
                if header is not None:
                    relevant.add(_key(header))
                mark = header["mark"] if header else None
                gold[passage.id] = gold.get(passage.id) or mark or ""
                texts.setdefault(passage.id, passage.text)
        for header in shown.values():
            strips = _DROPPED.split(header["text"])
            if len(strips) == 1:
                # Nothing was dropped, so the text was compared as a whole above.
                continue
            for passage in self.passages:
                if any(passage.holds(header["title"], strip) for strip in strips):
                    relevant.add(_key(header))
                    gold[passage.id] = gold.get(passage.id) or header["mark"] or ""
                    texts.setdefault(passage.id, passage.text)
        return Shown(gold, len({_key(header) for header in shown.values()} - relevant), texts)

    def is_part(self, title: str, text: str) -> bool:
        """Check whether a title in a prompt, and the quoted text below this title, are from a gold passage."""
        return any(passage.holds(title, text) for passage in self.passages)

    def is_enough(self, shown: Shown) -> bool:
        """Check whether enough gold passages are shown: all, or for yes/no questions as many as ``yes_no`` says."""
        wanted = set(self.question.supporting_ids)
        if not self.question.is_yes_no or self.yes_no == "all":
            return bool(shown.gold) and shown.gold.keys() >= wanted
        enough = 1
        if self.yes_no == "half":
            half = (len(wanted) + 1) // 2
            enough = max(1, min(half, _MOST_OF_HALF))
        return len(shown.gold) >= enough

    def is_in_snippet(self, passage: Passage, snippet: str) -> bool:
        """Check whether the snippet of a gold passage shows what the question needs of the passage.

        The question needs the first item of this list that occurs in the passage, as far as it occurs there:
        1. the answers to the sub-questions that the passage supports, and the values of the facts about its title
        2. an answer to the question, unless it is yes or no
        3. the title of another gold passage
        4. the sentence that shares most words with the question (in a tie, the first such sentence)
        """
        whole = fold_words(passage.text)
        part = fold_words(snippet)
        for facts in self._list_facts(passage):
            in_passage = [fact for fact in facts if _names_fact(whole, fact)]
            if in_passage:
                return all(_names_fact(part, fact) for fact in in_passage)
        wanted = set(fold_words(self.question.question).split())

        def count_shared(sentence: str) -> int:
            return len(wanted & set(fold_words(sentence).split()))

        best = max(plain_sentences(passage.text), key=count_shared, default="")
        return fold_words(best) in part

    def _list_facts(self, passage: Passage) -> Iterator[list[tuple[str, ...]]]:
        """Yield the lists of facts for :meth:`is_in_snippet`, in order; a fact is a tuple of interchangeable names."""
        question = self.question
        facts: list[tuple[str, ...]] = [
            (hop.answer,) for hop in question.decomposition if hop.supporting_id == passage.id
        ]
        for subject, _, value in question.evidence_triples:
            if find_about(subject, self.passages) == passage:
                facts.append((value,))
        yield facts
        yield [] if question.is_yes_no else [question.answers]
        yield [tuple(other.title for other in self.passages if other.title != passage.title)]


def _names_fact(words: str, fact: tuple[str, ...]) -> bool:
    """Check whether one of the interchangeable names of a fact is in a text, given by :func:`fold_words`."""
    return any(fold_words(name) in words for name in fact)


def find_about(subject: str, passages: tuple[Passage, ...]) -> Passage | None:
    """Find the passage with the title ``subject``, or else a passage whose title contains this or is part of this."""
    name = fold_words(subject)
    same = (passage for passage in passages if fold_words(passage.title) == name)
    part = (passage for passage in passages if name in fold_words(passage.title) or fold_words(passage.title) in name)
    return next(same, None) or next(part, None)


def _key(header: re.Match[str]) -> str:
    """Return what identifies a passage within a prompt: its citation mark, or else its title and text."""
    return header["mark"] or header["title"] + header["text"]


def _join_lines(text: str) -> str:
    lines = [line.removeprefix("|") for line in text.split("\n")]
    return " ".join(" ".join(lines).split())


def _places(passage: Passage, text: str) -> Iterator[int]:
    """Yield each position at which the passage's text directly follows its title."""
    title, wanted = passage.quoted
    place = text.find(wanted)
    while place >= 0:
        if title in text[max(0, place - len(title) - _BETWEEN) : place]:
            yield place
        place = text.find(wanted, place + 1)


def load_gold(
    questions: Sequence[str], corpus: Sequence[str], format: str = "auto", yes_no: YesNo = "one", web_sentences: int = 0
) -> Mapping[str, GoldQuestion]:
    """Return the gold passages of each question, by the question's text. Changed files are read again."""
    paths = [Path(file).expanduser() for file in (*questions, *corpus)]
    absent = next((path for path in paths if not path.exists()), None)
    if absent:
        raise FileNotFoundError(f"There is no file {absent}: the simulated reader needs the questions and the corpus.")
    changed = tuple(path.stat().st_mtime_ns for path in paths)
    return _apply_rules((tuple(questions), tuple(corpus), format, changed), yes_no, web_sentences)


@lru_cache(maxsize=4)
def _apply_rules(
    files: tuple[tuple[str, ...], tuple[str, ...], str, tuple[int, ...]], yes_no: YesNo, web_sentences: int
) -> Mapping[str, GoldQuestion]:
    questions = _load(*files)
    return {text: replace(gold, yes_no=yes_no, web_sentences=web_sentences) for text, gold in questions.items()}


@lru_cache(maxsize=4)
def _load(
    questions: tuple[str, ...], corpus: tuple[str, ...], format: str, changed: tuple[int, ...]
) -> Mapping[str, GoldQuestion]:
    read = [question for file in questions for question in load_questions(file, format=format)]
    wanted = {passage for question in read for passage in question.supporting_ids}
    passages: dict[str, Passage] = {}
    for document in chain.from_iterable(map(read_passages, corpus)):
        if document.id in wanted:
            # Of two passages with the same id, keep the first, as the index does.
            title = normalize_unicode(document.meta.get("title") or "")
            text = normalize_unicode(document.content or "")
            passages.setdefault(document.id, Passage(document.id, title, text, str(document.meta.get(SPLIT) or "")))
            if len(passages) == len(wanted):
                break
    if wanted and not passages:
        raise ValueError(
            f"None of the {len(wanted)} gold passages is in {', '.join(corpus)}: give the corpus of the questions."
        )
    absent = wanted - set(passages)
    if absent:
        # This is not logged as a warning, because the evaluation itself warns about missing gold passages.
        logger.info("%s of %s gold passages are not in the corpus and cannot be found.", len(absent), len(wanted))
    gold: dict[str, GoldQuestion] = {}
    for question in read:
        supporting = tuple(passages[passage] for passage in question.supporting_ids if passage in passages)
        text = one_line(question.question)
        if text in gold:
            logger.warning("Two questions have the text '%s': the gold passages of the first count for both.", text)
        gold.setdefault(text, GoldQuestion(question, supporting))
    return gold


def cut_to_sentences(text: str, many: int) -> str:
    """Cut a text to its first ``many`` sentences, like the snippet of a search engine. With 0, keep the whole text."""
    sentences = plain_sentences(text)
    if not many or len(sentences) <= many:
        return text
    return " ".join(sentences[:many])
