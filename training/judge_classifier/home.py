"""Simulate searches in a user's own files ("home").

A user's own files have many passages under one title. Unlike articles of an encyclopedia, they have no links between
them. The questions about them are short. Long articles, with questions on their passages, are similar. So they are used
here as if they were a user's files.
"""

import json
import math
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.judge.switch_features import switch_features
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.text.term_statistics import words
from prefrag.training.judge_classifier.steps import JudgedStep, RememberedTerms, make_source

# Which titles passages get: the article's own title, a file name, or none.
Titles = Literal["own", "file", "none"]
TITLES: tuple[Titles, ...] = ("own", "file", "none")
# An article with fewer passages than this is left out.
_FEWEST_PASSAGES = 10
# The training is refused if fewer articles than this are left.
_FEWEST_ARTICLES = 4
# The simulated files contain this share of the articles, from 0 to 1.
_ARTICLES_IN_FILES = 0.65
# The simulated files contain this share of an article's passages, from 0 to 1.
_PASSAGES_IN_FILES = 0.85
# The number of simulated questions that are drawn for each article. A simulated question joins two questions of the
# input, which are its parts.
_SIMULATED_QUESTIONS = 30
# The probability, from 0 to 1, that both parts are about the same article. Otherwise the second part is about a random
# article.
_SAME_ARTICLE = 0.6
# For this share of the searches for the second part, from 0 to 1, the query has only keywords instead of a question.
_KEYWORD_QUERIES = 0.35
# File names that say nothing about the content. They are used as titles.
_FILE_NAMES = ("README", "Manual", "FAQ", "Notes", "User guide", "Chapter", "Introduction", "Overview")


@dataclass(frozen=True)
class PassageQuestion:
    """A question and the passage that answers it."""

    question: str
    passage: str  # the id of the passage


@dataclass(frozen=True)
class _TwoParts:
    """A simulated question that joins two questions."""

    question: str  # such as "Who wrote it, and when was it printed?"
    queries: tuple[str, str]  # what is searched, one query after the other
    first_passage: str  # the id of the passage that answers the first part
    second_passage: str  # the id of the passage that answers the second part


@dataclass(frozen=True)
class Article:
    """A text that was cut into passages, with questions about it."""

    title: str
    passages: tuple[Document, ...]  # in the order of the file
    questions: tuple[PassageQuestion, ...]


def read_articles(file: Path) -> list[Article]:
    """Read articles with questions from a JSON Lines file.

    :param file: The file. Each line has a ``question``, and the ``title`` and ``text`` of the passage that answers it.
    :returns: The articles with at least ten passages.
    :raises ValueError: If a line cannot be read, or if fewer than four articles are left.
    """
    by_title: dict[str, list[tuple[str, str]]] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            by_title.setdefault(record["title"], []).append((record["question"], record["text"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{file}, line {number}: give `question`, `title` and `text` as JSON.") from error
    articles = [_article(title, questions) for title, questions in by_title.items()]
    large_articles = [article for article in articles if len(article.passages) >= _FEWEST_PASSAGES]
    if len(large_articles) < _FEWEST_ARTICLES:
        raise ValueError(
            f"{file} has {len(large_articles)} articles with questions on at least {_FEWEST_PASSAGES} passages: "
            f"training needs at least {_FEWEST_ARTICLES}."
        )
    return large_articles


def _article(title: str, questions: Sequence[tuple[str, str]]) -> Article:
    """Make an article from its questions, each with the text of its passage. Several may have the same passage."""
    id_of_text: dict[str, str] = {}
    for _, text in questions:
        id_of_text.setdefault(text, f"{title}#{len(id_of_text)}")
    passages = [Document(id=key, content=text, meta={"title": title}) for text, key in id_of_text.items()]
    passage_questions = [PassageQuestion(question, id_of_text[text]) for question, text in questions]
    return Article(title, tuple(passages), tuple(passage_questions))


def home_steps(
    articles: Sequence[Article], seed: int, *, titles: Titles = "own", top_k: int = 5
) -> Iterator[JudgedStep]:
    """Search the simulated files for the answers to two-part questions, and yield each search as a step to judge.

    The first query is the whole question or its first part. The second query is the second part or its keywords. The
    files may lack the passage that answers the second part, or even its whole article.

    The results of a step should be kept if a needed passage is among them. A passage is needed in two cases:

    - It answers the first part, and no earlier step has found it.
    - It answers the second part. This holds even if an earlier step has found it: the files then have the whole answer,
      so it would be wrong to drop the results and search another source.

    :param articles: The articles with their questions.
    :param seed: The seed of all random choices.
    :param titles: Which titles the passages get.
    :param top_k: The maximum number of passages that a search finds.
    :returns: The steps.
    """
    draw = random.Random(seed)
    articles_in_files = draw.sample(articles, math.ceil(_ARTICLES_IN_FILES * len(articles)))
    title_of_article = {article.title: _name(article, number, titles) for number, article in enumerate(articles)}
    passages = []
    for article in articles_in_files:
        for passage in article.passages:
            if draw.random() < _PASSAGES_IN_FILES:
                passages.append(replace(passage, meta={"title": title_of_article[article.title]}))

    with tempfile.TemporaryDirectory(prefix="prefrag-train-") as folder:
        store = TantivyDocumentStore(path=folder)
        store.write_documents(passages)
        source = make_source(store, top_k)
        terms = RememberedTerms(store)
        for article in articles_in_files:
            for _ in range(_SIMULATED_QUESTIONS):
                two_parts = _draw_question(article, articles, draw)
                if two_parts is not None:
                    # All questions on an article get its title as their id, so that they stay together in a split.
                    yield from _search_for(two_parts, article.title, source, terms)


def _draw_question(article: Article, articles: Sequence[Article], draw: random.Random) -> _TwoParts | None:
    """Join a question on an article with one on the same or another article. None if one passage answers both."""
    first = draw.choice(article.questions)
    second_article = article if draw.random() < _SAME_ARTICLE else draw.choice(articles)
    second = draw.choice(second_article.questions)
    if second.passage == first.passage:
        return None

    first_part = first.question.rstrip("? ")
    second_part = f"{second.question[:1].lower()}{second.question[1:]}"
    question = f"{first_part}, and {second_part}"
    first_query = draw.choice((question, first.question))
    second_query = second.question
    if draw.random() < _KEYWORD_QUERIES:
        # A question without any keyword is asked as a whole.
        second_query = " ".join(words(second.question)) or second.question
    return _TwoParts(question, (first_query, second_query), first.passage, second.passage)


def _search_for(
    two_parts: _TwoParts, question_id: str, source: RetrievalSource, terms: RememberedTerms
) -> Iterator[JudgedStep]:
    """Search with both queries of a question, and yield each search that finds something, see :func:`home_steps`."""
    # The passages that the earlier query has found.
    observed: dict[str, Document] = {}
    for step, query in enumerate(two_parts.queries):
        documents = source.run(query=query)["documents"]
        observed_before = list(observed.values())
        needed = []
        for document in documents:
            answers_first_part = document.id == two_parts.first_passage
            answers_second_part = document.id == two_parts.second_passage
            is_new = document.id not in observed
            needed.append(answers_second_part or (answers_first_part and is_new))
        if documents:
            features = switch_features(two_parts.question, query, documents, observed_before, step, terms)
            yield JudgedStep(
                question_id=question_id,
                question=two_parts.question,
                step=step,
                query=query,
                passages=tuple(documents),
                observed=tuple(observed_before),
                features=tuple(features),
                needed=tuple(needed),
            )
        for document in documents:
            observed.setdefault(document.id, document)


def _name(article: Article, number: int, titles: str) -> str:
    """Return the title of an article's passages: its own, one such as "Manual 1", or none."""
    if titles == "own":
        return article.title
    if titles == "none":
        return ""
    # When all file names have been used, they are used again with the next number.
    file_name = _FILE_NAMES[number % len(_FILE_NAMES)]
    return f"{file_name} {number // len(_FILE_NAMES) + 1}"
