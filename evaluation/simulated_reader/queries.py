"""Write the queries of the simulated reader.

The reader knows the gold passages, but a query must not give away what the reader was not shown. So a gold title or a
gold answer is in a query only if it is in the question or in the prompt.
"""

import re
from collections.abc import Collection, Iterator
from itertools import dropwhile, groupby

from prefrag.components.reasoner.reply_formats.fields import plain_query
from prefrag.evaluation.question import Question
from prefrag.evaluation.simulated_reader.gold import GoldQuestion, Passage, find_about, fold_words
from prefrag.evaluation.simulated_reader.policy import Queries

# Matches a reference to the answer of an earlier sub-question, such as "#1" in "When was #1 born?".
_REFERENCE = re.compile(r"#(\d+)")
# Matches a word or a punctuation mark: "Alice", "'s" belongs to the word in "Alice's", and "," is a token of its own. A
# name ends at a punctuation mark.
_TOKEN = re.compile(r"[\w'\u2019-]+|[^\w\s]")
# Words that a search engine ignores.
_SMALL = (
    "a an and are as at be been by did do does for from had has have how in is it its many much of on or that the "
    "their there these this to was were what when where which who whom whose why"
)
# The same words as a set.
_SMALL_WORDS = frozenset(_SMALL.split())


def queries(gold: GoldQuestion, shown: Collection[str], seen: str, kind: Queries = "dataset") -> Iterator[str]:
    """Yield the possible next queries, best first. No query contains a gold title or answer that was not shown yet.

    With the kind "dataset", the first queries are sub-questions or facts from the dataset. Such a query is used only if
    its passage was not shown yet. All names in the query must occur in the question or the transcript. Then follow, in
    this order:

    - variations of these queries: their keywords, and the queries joined with the question
    - the question with the title of a shown gold passage
    - the question alone
    - the titles of missing gold passages, if they were mentioned
    - words of the question

    With the kind "alike", queries are made in the same way for every dataset. The first query is the question. Each
    further query joins a name with the words of the question that no shown gold passage contains. The names are the
    titles of shown gold passages, and then the names in their texts. The last queries are words of the question.

    :param gold: The question with its gold passages.
    :param shown: The ids of the gold passages that were shown.
    :param seen: The transcript, which the reader has seen.
    :param kind: The kind of queries, "dataset" or "alike".
    :returns: An iterator over different queries.
    """
    question = gold.question
    seen_words = fold_words(f"{question.question} {seen}")
    make_queries = _alike_queries if kind == "alike" else _dataset_queries
    secrets = _secrets(gold, seen_words, kind)

    used = set()
    for open_query in make_queries(gold, shown, seen_words):
        query = plain_query(open_query)
        words = fold_words(query)
        if not words.strip() or words in used or any(secret in words for secret in secrets):
            continue
        used.add(words)
        yield query


def find_wanted(gold: GoldQuestion, shown: Collection[str], seen: str) -> list[Passage]:
    """Find the gold passage that the best next query is meant to find.

    :param gold: The question with its gold passages.
    :param shown: The ids of the gold passages that were shown.
    :param seen: The transcript, which the reader has seen.
    :returns: This passage. If it is not known, all missing gold passages.
    """
    words = fold_words(f"{gold.question.question} {seen}")
    missing = [passage for passage in gold.passages if passage.id not in shown]
    # Each open sub-question or fact, with the id of its passage. The first is the best next query.
    aims = [*_hops(gold.question, shown), *_facts(gold, shown, words)]
    if not aims:
        return missing
    _, wanted_id = aims[0]
    wanted = [passage for passage in missing if passage.id == wanted_id]
    return wanted or missing


def _secrets(gold: GoldQuestion, seen_words: str, kind: Queries) -> set[str]:
    """Return the gold titles, answers and names that a query must not contain, because they were not shown yet."""
    question = gold.question
    names = [passage.title for passage in gold.passages]
    if not question.is_yes_no:
        names += question.answers
    if kind == "dataset":
        names += [hop.answer for hop in question.decomposition]
        for subject, _, value in question.evidence_triples:
            names += [subject, value]

    secrets = {fold_words(name) for name in names}
    # A name without words is no secret.
    secrets.discard(fold_words(""))
    question_words = fold_words(question.question)
    return {secret for secret in secrets if secret not in question_words and secret not in seen_words}


def _dataset_queries(gold: GoldQuestion, shown: Collection[str], seen_words: str) -> Iterator[str]:
    """Yield the queries of the kind "dataset", also those that may not be used."""
    question = gold.question.question
    aims = [aim for aim, _ in (*_hops(gold.question, shown), *_facts(gold, shown, seen_words))]
    yield from aims
    for aim in aims:
        yield keywords(aim)
        yield f"{aim} {question}"
    yield from (f"{question} {passage.title}" for passage in gold.passages if passage.id in shown)
    yield question
    yield from (passage.title for passage in gold.passages if passage.id not in shown)
    yield from _word_queries(question)


def _alike_queries(gold: GoldQuestion, shown: Collection[str], seen: str) -> Iterator[str]:
    """Yield the queries of the kind "alike", also those that may not be used."""
    question = gold.question.question
    shown_passages = [passage for passage in gold.passages if passage.id in shown]
    covered = fold_words(" ".join(f"{passage.title} {passage.text}" for passage in shown_passages))
    open_words = " ".join(word for word in keywords(question).split() if fold_words(word) not in covered)
    names = [name for passage in shown_passages for name in _names(passage.text)]
    # A query uses only names that were shown. Sometimes a prompt shows only a part of a passage.
    new_names = [name for name in names if fold_words(name) in seen and fold_words(name) not in fold_words(question)]

    yield question
    for name in dict.fromkeys([*(passage.title for passage in shown_passages), *new_names]):
        yield f"{name} {open_words}"
    yield from _word_queries(question)


def _word_queries(question: str) -> Iterator[str]:
    """Yield the keywords of a question, then their first half, then their second half."""
    words = keywords(question).split()
    yield " ".join(words)
    yield " ".join(words[: len(words) // 2])
    yield " ".join(words[len(words) // 2 :])


def _names(text: str) -> Iterator[str]:
    """Yield each sequence of capitalised words, without small words at its beginning.

    For example, ``_names("The Orange County lies near Los Angeles.")`` yields ``["Orange County", "Los Angeles"]``.
    """
    for is_name, tokens in groupby(_TOKEN.findall(text), key=lambda token: token[0].isupper()):
        if is_name:
            name = " ".join(dropwhile(lambda token: token.lower() in _SMALL_WORDS, tokens))
            if name:
                yield name


def _hops(question: Question, shown: Collection[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each sub-question whose passage is missing, with the id of this passage.

    A sub-question that refers to an unknown answer is left out. Other references are replaced by the answers.
    """
    # The known answers, by the number of the sub-question.
    answers: dict[str, str] = {}
    for number, hop in enumerate(question.decomposition, start=1):
        if hop.supporting_id in shown:
            answers[str(number)] = hop.answer

    for hop in question.decomposition:
        references = set(_REFERENCE.findall(hop.question))
        if hop.supporting_id not in shown and references <= set(answers):
            text = _REFERENCE.sub(lambda match: answers[match[1]], hop.question)
            yield text.replace(" >> ", " "), hop.supporting_id


def _facts(gold: GoldQuestion, shown: Collection[str], seen_words: str) -> Iterator[tuple[str, str | None]]:
    """Yield each fact that is missing and whose subject was shown, as "subject relation".

    Each comes with the id of its passage, or None if no passage is about the subject.
    """
    for subject, relation, value in gold.question.evidence_triples:
        if fold_words(subject) not in seen_words:
            continue
        passage = find_about(subject, gold.passages)
        if passage is None:
            if fold_words(value) not in seen_words:
                yield f"{subject} {relation}", None
        elif passage.id not in shown:
            yield f"{subject} {relation}", passage.id


def keywords(text: str) -> str:
    """Drop the words of a text that a search engine ignores.

    For example, ``keywords("Who was the director of Jaws?")`` returns ``"director Jaws"``.

    :param text: The text.
    :returns: The other words, with single spaces. It may be empty.
    """
    return " ".join(word for word in re.findall(r"\w+", text) if word.lower() not in _SMALL_WORDS)
