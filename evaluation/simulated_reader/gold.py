"""Read the gold passages of each question, and find them in prompts.

The simulated reader gets only the text of a prompt, as a language model does. This module tells which gold passages the
text shows, and whether they are enough to answer the question.
"""

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

# Matches a word: a sequence of letters, digits and underscores.
_WORD = re.compile(r"\w+")
# Matches a passage in a prompt: its title line and its quoted text, such as
#     [D3xk] Jaws
#     | Jaws is a film by Steven Spielberg.
# The parts of the pattern:
# - An optional label. In transcripts, it stands before the first title, as in "Observation: [D3xk] Jaws".
# - The mark by which the model cites the passage, such as "[D3xk]". Prompts without marks have "Title:" here.
# - The title, up to the end of the line.
# - All following lines that begin with "|". They are the text of the passage.
_HEADER = re.compile(
    r"^(?:Observation: |Passages: )?(?:\[(?P<mark>[ADW]?\d+[a-z]{2})\]|Title:) (?P<title>.*)(?P<text>(?:\n\|.*)*)$",
    re.MULTILINE,
)
# Matches a passage, or a part of a passage, in a prompt that asks for a score of each. The mark is only a number, as in
# "[2] Jaws". The text is in the lines below that begin with "|".
_NUMBERED = re.compile(r"^\[(?P<number>\d+)\] (?P<title>.*)(?P<text>(?:\n\|.*)*)$", re.MULTILINE)
# Matches the line that replaces a part of a passage that CRAG has dropped: a line "| ..." with nothing behind the dots.
_DROPPED = re.compile(r"\n\| \.\.\.(?=\n|$)")
# The maximum number of characters between a title and its text. There are a line break and the bar of a quoted line.
_BETWEEN = 8
# Under the rule "half", a yes/no question needs half of its gold passages, but never more than this many.
_MOST_OF_HALF = 5

# The rule for how many gold passages a yes/no question needs: one, half of them, or all.
YesNo = Literal["one", "half", "all"]


def one_line(text: str) -> str:
    r"""Put a text on one line, so that a question is found even if a prompt breaks it into lines.

    For example, ``one_line("Who wrote\nit?")`` returns ``"Who wrote it?"``.

    :param text: The text.
    :returns: The text with single spaces between its words.
    """
    return " ".join(text.split())


def fold_words(text: str) -> str:
    """Return the words of a text in lower case, with a space before and after each.

    The spaces make sure that `in` finds only whole words. For example, ``fold_words("Who, me?")`` returns ``" who me
    "``.

    :param text: The text.
    :returns: The words. A text without words becomes two spaces.
    """
    words = " ".join(_WORD.findall(text.casefold()))
    return f" {words} "


def read_titles(text: str) -> list[str]:
    """Return the title of every passage in a prompt.

    :param text: The prompt.
    :returns: The titles in order.
    """
    return [match["title"] for match in _HEADER.finditer(text)]


def read_numbered(text: str) -> list[tuple[str, str, str]]:
    """Return every passage in a prompt that asks for scores.

    :param text: The prompt.
    :returns: The number, the title and the quoted text of each passage.
    """
    return [(match["number"], match["title"], match["text"]) for match in _NUMBERED.finditer(normalize_unicode(text))]


@dataclass(frozen=True)
class Passage:
    """A gold passage."""

    # The id of the passage in the corpus.
    id: str
    # The title, which may be empty.
    title: str
    # The whole text, or a snippet.
    text: str
    # In a corpus that is split between two sources: the source that has the passage, or "both". Otherwise empty.
    source: str = ""

    @cached_property
    def quoted(self) -> tuple[str, str]:
        """The title and the text as prompts quote them."""
        return normalize_unicode(quote_title(self.title)), normalize_unicode(quote_text(self.text))

    def holds(self, title: str, text: str) -> bool:
        """Check whether a passage in a prompt is this passage or a part of it.

        :param title: The title in the prompt.
        :param text: The quoted text below the title.
        :returns: True if the titles are equal and the text occurs in this passage.
        """
        own_title, own_text = self.quoted
        part = _join_lines(text)
        return title == own_title and bool(part) and part in _join_lines(own_text)


@dataclass(frozen=True)
class Shown:
    """The passages that a prompt shows."""

    # The citation mark of each gold passage that is shown, by the id of the passage. The mark is empty in prompts
    # without marks (summaries, plain prompts).
    gold: Mapping[str, str]
    # The number of other passages.
    irrelevant: int
    # The text of each gold passage that is shown, by its id: the whole text or a snippet.
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class GoldQuestion:
    """A question with its gold passages, and the rules for how many of them are enough to answer it."""

    # The question with its gold answers.
    question: Question
    # The gold passages that are in the corpus.
    passages: tuple[Passage, ...]
    # The rule for how many gold passages a yes/no question needs.
    yes_no: YesNo = "one"
    # The number of sentences of a passage that the web shows. 0 means all.
    web_sentences: int = 0

    @cached_property
    def _forms(self) -> tuple[Passage, ...]:
        """The gold passages as a prompt may show them.

        Each passage is followed by its snippet, if the snippet contains what the question needs.
        """
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
        """Find the gold passages in a prompt, each below its title, and count the other passages.

        :param text: The prompt.
        :returns: The passages that the prompt shows.
        """
        gold: dict[str, str] = {}
        texts: dict[str, str] = {}
        relevant_keys = set()
        # Both texts need the same Unicode form before they are compared: the prompt may have another than the file of
        # the corpus.
        text = normalize_unicode(text)
        # The text of a passage begins one character (the line break) behind the end of its title.
        headers = {match.end("title") + 1: match for match in _HEADER.finditer(text)}
        for passage in self._forms:
            for place in _places(passage, text):
                mark = ""
                header = headers.get(place)
                if header is not None:
                    relevant_keys.add(_key(header))
                    mark = header["mark"] or ""
                # The first mark of a passage counts.
                gold[passage.id] = gold.get(passage.id) or mark
                texts.setdefault(passage.id, passage.text)

        # A passage of which CRAG has dropped parts counts if one of the remaining parts (strips) is from it.
        for header in headers.values():
            strips = _DROPPED.split(header["text"])
            if len(strips) == 1:
                # Nothing was dropped, so the text was compared as a whole above.
                continue
            for passage in self.passages:
                if any(passage.holds(header["title"], strip) for strip in strips):
                    relevant_keys.add(_key(header))
                    gold[passage.id] = gold.get(passage.id) or header["mark"] or ""
                    texts.setdefault(passage.id, passage.text)

        irrelevant_keys = {_key(header) for header in headers.values()} - relevant_keys
        return Shown(gold, len(irrelevant_keys), texts)

    def is_part(self, title: str, text: str) -> bool:
        """Check whether a passage in a prompt is a gold passage, or a part of one.

        :param title: The title in the prompt.
        :param text: The quoted text below the title.
        :returns: True if it is.
        """
        return any(passage.holds(title, text) for passage in self.passages)

    def is_enough(self, shown: Shown) -> bool:
        """Check whether enough gold passages are shown to answer the question.

        :param shown: The passages that a prompt shows.
        :returns: True if all gold passages are shown. A yes/no question needs as many as the rule ``yes_no`` says.
        """
        gold_ids = set(self.question.supporting_ids)
        if not self.question.is_yes_no or self.yes_no == "all":
            return bool(shown.gold) and shown.gold.keys() >= gold_ids
        enough = 1
        if self.yes_no == "half":
            half = (len(gold_ids) + 1) // 2
            enough = max(1, min(half, _MOST_OF_HALF))
        return len(shown.gold) >= enough

    def is_in_snippet(self, passage: Passage, snippet: str) -> bool:
        """Check whether the snippet of a gold passage shows what the question needs of the passage.

        The question needs the first of these things that occurs in the passage:

        1. The answers to the sub-questions that the passage supports, and the values of the facts about its title.
        2. An answer to the question, unless the answer is yes or no.
        3. The title of another gold passage.
        4. The sentence that shares most words with the question. If several do, the first of them.

        If there are several answers, values or titles, the snippet needs all that occur in the passage.

        :param passage: The gold passage.
        :param snippet: The first sentences of the passage.
        :returns: True if the snippet shows what the question needs.
        """
        passage_words = fold_words(passage.text)
        snippet_words = fold_words(snippet)
        for facts in self._list_facts(passage):
            in_passage = [fact for fact in facts if _names_fact(passage_words, fact)]
            if in_passage:
                return all(_names_fact(snippet_words, fact) for fact in in_passage)

        question_words = set(fold_words(self.question.question).split())

        def count_shared(sentence: str) -> int:
            """Count the different words of the question that a sentence contains."""
            return len(question_words & set(fold_words(sentence).split()))

        best_sentence = max(plain_sentences(passage.text), key=count_shared, default="")
        return fold_words(best_sentence) in snippet_words

    def _list_facts(self, passage: Passage) -> Iterator[list[tuple[str, ...]]]:
        """Yield the first three lists of things for :meth:`is_in_snippet`, in order.

        Each thing is a tuple of names, of which any may occur in the text.
        """
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
    """Check whether one of the names of a fact is in a text. ``words`` is the text after :func:`fold_words`."""
    return any(fold_words(name) in words for name in fact)


def find_about(subject: str, passages: tuple[Passage, ...]) -> Passage | None:
    """Find the passage about a subject.

    :param subject: The subject, such as the name of a person.
    :param passages: The passages.
    :returns: The passage whose title is the subject. If there is none, the first passage whose title contains the
        subject or is a part of it. None if there is no such passage.
    """
    name = fold_words(subject)
    for passage in passages:
        if fold_words(passage.title) == name:
            return passage
    for passage in passages:
        title = fold_words(passage.title)
        if name in title or title in name:
            return passage
    return None


def _key(header: re.Match[str]) -> str:
    """Return what identifies a passage within a prompt: its mark. If it has no mark, return its title and text."""
    return header["mark"] or header["title"] + header["text"]


def _join_lines(text: str) -> str:
    r"""Join the quoted lines of a text, without their bars.

    For example, ``_join_lines("| One.\n| Two.")`` returns ``"One. Two."``.
    """
    lines = [line.removeprefix("|") for line in text.split("\n")]
    return " ".join(" ".join(lines).split())


def _places(passage: Passage, text: str) -> Iterator[int]:
    """Yield each position in a prompt at which the passage's text directly follows its title."""
    title, quoted_text = passage.quoted
    place = text.find(quoted_text)
    while place >= 0:
        if title in text[max(0, place - len(title) - _BETWEEN) : place]:
            yield place
        place = text.find(quoted_text, place + 1)


def load_gold(
    questions: Sequence[str], corpus: Sequence[str], format: str = "auto", yes_no: YesNo = "one", web_sentences: int = 0
) -> Mapping[str, GoldQuestion]:
    """Return the gold passages of each question. Files that have changed are read again.

    :param questions: The files of questions.
    :param corpus: The files of the corpus.
    :param format: The format of the files of questions. "auto" means that it is detected.
    :param yes_no: The rule for how many gold passages a yes/no question needs.
    :param web_sentences: The number of sentences of a passage that the web shows. 0 means all.
    :returns: The questions with their gold passages, by the text of the question on one line.
    :raises FileNotFoundError: If a file is absent.
    :raises ValueError: If a file is invalid, or none of the gold passages is in the corpus.
    """
    paths = [Path(file).expanduser() for file in (*questions, *corpus)]
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(
                f"There is no file {path}: the simulated reader needs the questions and the corpus."
            )
    # The times of the last change are part of the cache's key.
    change_times = tuple(path.stat().st_mtime_ns for path in paths)
    return _apply_rules((tuple(questions), tuple(corpus), format, change_times), yes_no, web_sentences)


@lru_cache(maxsize=4)
def _apply_rules(
    files: tuple[tuple[str, ...], tuple[str, ...], str, tuple[int, ...]], yes_no: YesNo, web_sentences: int
) -> Mapping[str, GoldQuestion]:
    """Return the questions of the files with these two rules."""
    questions = _load(*files)
    return {text: replace(gold, yes_no=yes_no, web_sentences=web_sentences) for text, gold in questions.items()}


@lru_cache(maxsize=4)
def _load(
    questions: tuple[str, ...], corpus: tuple[str, ...], format: str, change_times: tuple[int, ...]
) -> Mapping[str, GoldQuestion]:
    """Read the questions and their gold passages from the files. ``change_times`` is only a part of the cache's key."""
    all_questions: list[Question] = []
    for file in questions:
        all_questions += load_questions(file, format=format)
    gold_ids: set[str] = set()
    for question in all_questions:
        gold_ids.update(question.supporting_ids)

    passages: dict[str, Passage] = {}
    for document in chain.from_iterable(map(read_passages, corpus)):
        if document.id in gold_ids:
            # If two passages have the same id, the first is used, as in the index.
            title = normalize_unicode(document.meta.get("title") or "")
            text = normalize_unicode(document.content or "")
            passages.setdefault(document.id, Passage(document.id, title, text, str(document.meta.get(SPLIT) or "")))
            if len(passages) == len(gold_ids):
                break
    if gold_ids and not passages:
        raise ValueError(
            f"None of the {len(gold_ids)} gold passages is in {', '.join(corpus)}: give the corpus of the questions."
        )

    absent = gold_ids - set(passages)
    if absent:
        # Not a warning, because the evaluation itself warns about missing gold passages.
        logger.info("%s of %s gold passages are not in the corpus and cannot be found.", len(absent), len(gold_ids))

    gold: dict[str, GoldQuestion] = {}
    for question in all_questions:
        supporting = tuple(passages[passage] for passage in question.supporting_ids if passage in passages)
        text = one_line(question.question)
        if text in gold:
            logger.warning("Two questions have the text '%s': the gold passages of the first count for both.", text)
        gold.setdefault(text, GoldQuestion(question, supporting))
    return gold


def cut_to_sentences(text: str, many: int) -> str:
    """Cut a text to its first sentences, like the snippet of a search engine.

    For example, ``cut_to_sentences("It rained. We left. Nobody saw us.", 2)`` returns ``"It rained. We left."``.

    :param text: The text.
    :param many: The number of sentences that remain. 0 means all.
    :returns: The shortened text. A text that has no more sentences is returned unchanged.
    """
    sentences = plain_sentences(text)
    if not many or len(sentences) <= many:
        return text
    return " ".join(sentences[:many])
