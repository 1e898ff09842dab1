"""Simulate searches in a user's own files ("home").

A user's own files have many passages under one title, and no links. The questions about them are short. So long
articles with questions on their passages are used as if they were a user's files.
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
# For each article, this number of simulated questions is drawn. Each simulated question joins two questions as its two
# parts.
_PAIRS = 30
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
    articles = [_article(title, asked) for title, asked in by_title.items()]
    large = [article for article in articles if len(article.passages) >= _FEWEST_PASSAGES]
    if len(large) < _FEWEST_ARTICLES:
        raise ValueError(
            f"{file} has {len(large)} articles with questions on at least {_FEWEST_PASSAGES} passages: training needs "
            f"at least {_FEWEST_ARTICLES}."
        )
    return large


def _article(title: str, asked: Sequence[tuple[str, str]]) -> Article:
    """Make an article from its questions, each with the text of its passage."""
    texts = dict.fromkeys(text for _, text in asked)
    ids = {text: f"{title}#{place}" for place, text in enumerate(texts)}
    passages = [Document(id=key, content=text, meta={"title": title}) for text, key in ids.items()]
    questions = [PassageQuestion(question, ids[text]) for question, text in asked]
    return Article(title, tuple(passages), tuple(questions))


def home_steps(
    articles: Sequence[Article], seed: int, *, titles: Titles = "own", top_k: int = 5
) -> Iterator[JudgedStep]:
    """Search the simulated files for the answers to two-part questions, and yield each search as a step to judge.

    The first query is the whole question or its first part. The second query is the second part or its keywords. The
    files may lack the passage that answers the second part, or even its whole article.

    A step should be kept if it has found a needed passage. The passage of the first part is needed only if it was not
    found before. The passage of the second part is always needed. If it was found before, the answer is already there,
    and another source would bring nothing.

    :param articles: The articles with their questions.
    :param seed: The seed of all random choices.
    :param titles: Which titles the passages get.
    :param top_k: The maximum number of passages that a search finds.
    :returns: The steps.
    """
    draw = random.Random(seed)
    present = draw.sample(articles, math.ceil(_ARTICLES_IN_FILES * len(articles)))
    names = {article.title: _name(article, number, titles) for number, article in enumerate(articles)}
    passages = []
    for article in present:
        for passage in article.passages:
            if draw.random() < _PASSAGES_IN_FILES:
                passages.append(replace(passage, meta={"title": names[article.title]}))

    with tempfile.TemporaryDirectory(prefix="prefrag-train-") as folder:
        store = TantivyDocumentStore(path=folder)
        store.write_documents(passages)
        source = make_source(store, top_k)
        terms = RememberedTerms(store)
        for article in present:
            for _ in range(_PAIRS):
                first = draw.choice(article.questions)
                about = article if draw.random() < _SAME_ARTICLE else draw.choice(articles)
                second = draw.choice(about.questions)
                if second.passage == first.passage:
                    continue
                first_part = first.question.rstrip("? ")
                second_part = f"{second.question[:1].lower()}{second.question[1:]}"
                question = f"{first_part}, and {second_part}"
                first_query = draw.choice((question, first.question))
                second_query = second.question
                if draw.random() < _KEYWORD_QUERIES:
                    # A question without any keyword is asked as a whole.
                    second_query = " ".join(words(second.question)) or second.question

                # The passages that earlier searches for this question have found.
                observed: dict[str, Document] = {}
                for step, query in enumerate((first_query, second_query)):
                    documents = source.run(query=query)["documents"]
                    before = list(observed.values())
                    needed = []
                    for document in documents:
                        is_new_first = document.id == first.passage and document.id not in observed
                        needed.append(document.id == second.passage or is_new_first)
                    if documents:
                        features = switch_features(question, query, documents, before, step, terms)
                        yield JudgedStep(
                            question_id=article.title,
                            question=question,
                            step=step,
                            query=query,
                            passages=tuple(documents),
                            observed=tuple(before),
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
