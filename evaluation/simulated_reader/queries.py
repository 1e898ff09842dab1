"""Write the queries of the simulated reader."""

import re
from collections.abc import Collection, Iterator
from itertools import dropwhile, groupby

from prefrag.components.reasoner.reply_formats.fields import plain_query
from prefrag.evaluation.question import Question
from prefrag.evaluation.simulated_reader.gold import GoldQuestion, Passage, find_about, fold_words
from prefrag.evaluation.simulated_reader.policy import Queries

_REFERENCE = re.compile(r"#(\d+)")
# A word or a punctuation mark. A name ends at a punctuation mark.
_TOKEN = re.compile(r"[\w'\u2019-]+|[^\w\s]")
# Words that a search engine ignores.
_SMALL = (
    "a an and are as at be been by did do does for from had has have how in is it its many much of on or that the "
    "their there these this to was were what when where which who whom whose why"
)
_SMALL_WORDS = frozenset(_SMALL.split())


def queries(gold: GoldQuestion, shown: Collection[str], seen: str, kind: Queries = "dataset") -> Iterator[str]:
    """Yield the possible next queries, best first. No query names a gold title or answer that was not shown yet.

    With the kind ``dataset``, the first queries are sub-questions or facts from the dataset. Each is used only if its
    passage was not shown yet, and all names in it occur in the question or the transcript. Then follow variations of
    these queries (their keywords, or joined with the question), the question with the title of a shown gold passage,
    the question alone, titles that were mentioned, and words of the question.

    With the kind ``alike``, queries are made in the same way for every dataset. The first query is the question. Each
    further query joins a name and the words of the question that no shown gold passage contains. The names are the
    titles of shown gold passages, then the names in their texts. The last queries are words of the question.
    """
    question = gold.question
    read = fold_words(f"{question.question} {seen}")
    possible = _alike_queries if kind == "alike" else _dataset_queries
    secrets = _secrets(gold, read, kind)
    offered = set()
    for open_query in possible(gold, shown, read):
        query = plain_query(open_query)
        words = fold_words(query)
        if not words.strip() or words in offered or any(secret in words for secret in secrets):
            continue
        offered.add(words)
        yield query


def find_wanted(gold: GoldQuestion, shown: Collection[str], seen: str) -> list[Passage]:
    """Return the missing gold passage that the best next query is meant to find, or else all missing gold passages."""
    read = fold_words(f"{gold.question.question} {seen}")
    first = next((wanted for _, wanted in (*_hops(gold.question, shown), *_facts(gold, shown, read))), None)
    missing = [passage for passage in gold.passages if passage.id not in shown]
    return [passage for passage in missing if passage.id == first] or missing


def _secrets(gold: GoldQuestion, read: str, kind: Queries) -> set[str]:
    """Return the gold titles, answers and names that a query must not contain, because they were not shown yet."""
    question = gold.question
    names = [passage.title for passage in gold.passages]
    names += () if question.is_yes_no else question.answers
    if kind == "dataset":
        names += (hop.answer for hop in question.decomposition)
        names += (end for subject, _, value in question.evidence_triples for end in (subject, value))
    secrets = {fold_words(name) for name in names} - {fold_words("")}
    question_words = fold_words(question.question)
    return {secret for secret in secrets if secret not in question_words and secret not in read}


def _dataset_queries(gold: GoldQuestion, shown: Collection[str], read: str) -> Iterator[str]:
    question = gold.question.question
    aims = [aim for aim, _ in (*_hops(gold.question, shown), *_facts(gold, shown, read))]
    yield from aims
    for aim in aims:
        yield keywords(aim)
        yield f"{aim} {question}"
    yield from (f"{question} {passage.title}" for passage in gold.passages if passage.id in shown)
    yield question
    yield from (passage.title for passage in gold.passages if passage.id not in shown)
    yield from _word_queries(question)


def _alike_queries(gold: GoldQuestion, shown: Collection[str], seen: str) -> Iterator[str]:
    question = gold.question.question
    read = [passage for passage in gold.passages if passage.id in shown]
    covered = fold_words(" ".join(f"{passage.title} {passage.text}" for passage in read))
    still_open = " ".join(word for word in keywords(question).split() if fold_words(word) not in covered)
    names = [name for passage in read for name in _names(passage.text)]
    # A query uses only names that were shown: sometimes the prompt shows only a part of a passage.
    unasked = [name for name in names if fold_words(name) in seen and fold_words(name) not in fold_words(question)]
    yield question
    for name in dict.fromkeys([*(passage.title for passage in read), *unasked]):
        yield f"{name} {still_open}"
    yield from _word_queries(question)


def _word_queries(question: str) -> Iterator[str]:
    words = keywords(question).split()
    yield " ".join(words)
    yield " ".join(words[: len(words) // 2])
    yield " ".join(words[len(words) // 2 :])


def _names(text: str) -> Iterator[str]:
    """Yield each sequence of capitalised words, without small words at its beginning."""
    for is_name, tokens in groupby(_TOKEN.findall(text), key=lambda token: token[0].isupper()):
        name = " ".join(dropwhile(lambda token: token.lower() in _SMALL_WORDS, tokens)) if is_name else ""
        if name:
            yield name


def _hops(question: Question, shown: Collection[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each sub-question whose passage is missing, with that passage's id, if it needs no unknown answers."""
    answers = {
        str(number): hop.answer
        for number, hop in enumerate(question.decomposition, start=1)
        if hop.supporting_id in shown
    }
    for hop in question.decomposition:
        if hop.supporting_id not in shown and set(_REFERENCE.findall(hop.question)) <= set(answers):
            yield _REFERENCE.sub(lambda match: answers[match[1]], hop.question).replace(" >> ", " "), hop.supporting_id


def _facts(gold: GoldQuestion, shown: Collection[str], read: str) -> Iterator[tuple[str, str | None]]:
    """Yield each fact that is missing and whose subject is known, as "subject relation", with its passage's id."""
    for subject, relation, value in gold.question.evidence_triples:
        passage = find_about(subject, gold.passages)
        is_open = passage.id not in shown if passage else fold_words(value) not in read
        if is_open and fold_words(subject) in read:
            yield f"{subject} {relation}", passage.id if passage else None


def keywords(text: str) -> str:
    """Drop the words of a text that a search engine ignores."""
    return " ".join(word for word in re.findall(r"\w+", text) if word.lower() not in _SMALL_WORDS)
