"""Write the queries of the simulated reader.

The simulated reader stands in for a language model, but it knows the gold passages: those that the dataset marks as
needed for the answer. A query must not give away what the reader was not shown. So a gold title or a gold answer is in
a query only if it is in the question, or in the prompt that the reader was shown.
"""

import re
from collections.abc import Collection, Iterator
from itertools import dropwhile, groupby
from typing import NamedTuple

from prefrag.components.reasoner.reply_formats.fields import plain_query
from prefrag.evaluation.question import Question
from prefrag.evaluation.simulated_reader.gold import GoldQuestion, Passage, find_about, fold_words
from prefrag.evaluation.simulated_reader.policy import Queries

# Matches a reference to the answer of an earlier sub-question, such as "#1" in "When was #1 born?". Its group is the
# number of that sub-question.
_REFERENCE = re.compile(r"#(\d+)")
# Matches a word or a punctuation mark. "Alice's, too" has the tokens "Alice's", "," and "too". A punctuation mark is a
# token of its own, because a name ends there.
_TOKEN = re.compile(r"[\w'\u2019-]+|[^\w\s]")
# Words that a search engine ignores.
_SMALL = (
    "a an and are as at be been by did do does for from had has have how in is it its many much of on or that the "
    "their there these this to was were what when where which who whom whose why"
)
# The same words as a set.
_SMALL_WORDS = frozenset(_SMALL.split())


class _Aim(NamedTuple):
    """Something that the reader still has to find out: a sub-question or a fact of the dataset.

    :param query: The query for it, such as "Aurora builder".
    :param passage_id: The id of the gold passage that has it; None or empty if the dataset does not tell.
    """

    query: str
    passage_id: str | None


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
    seen_words = fold_words(f"{gold.question.question} {seen}")
    secrets = _secrets(gold, seen_words, kind)
    make_queries = _alike_queries if kind == "alike" else _dataset_queries

    words_of_earlier = set()
    for possible_query in make_queries(gold, shown, seen_words):
        # The reasoner reads the query from the reader's reply in this form. So the queries must differ in this form.
        query = plain_query(possible_query)
        words = fold_words(query)
        is_empty = not words.strip()
        tells_secret = any(secret in words for secret in secrets)
        if is_empty or tells_secret or words in words_of_earlier:
            continue
        words_of_earlier.add(words)
        yield query


def find_wanted(gold: GoldQuestion, shown: Collection[str], seen: str) -> list[Passage]:
    """Find the gold passage that the best next query of the kind "dataset" is meant to find.

    :param gold: The question with its gold passages.
    :param shown: The ids of the gold passages that were shown.
    :param seen: The transcript, which the reader has seen.
    :returns: This passage. If it is not known, all missing gold passages.
    """
    seen_words = fold_words(f"{gold.question.question} {seen}")
    missing = [passage for passage in gold.passages if passage.id not in shown]
    aims = _aims(gold, shown, seen_words)
    if not aims:
        return missing
    best_aim = aims[0]
    wanted = [passage for passage in missing if passage.id == best_aim.passage_id]
    return wanted or missing


def _secrets(gold: GoldQuestion, seen_words: str, kind: Queries) -> set[str]:
    """Return what a query must not contain: gold titles, answers and names that were not shown yet.

    :param gold: The question with its gold passages.
    :param seen_words: The question and the transcript, after :func:`fold_words`.
    :param kind: The kind of queries. Only those of the kind "dataset" are made of sub-questions and facts.
    :returns: The secrets, after :func:`fold_words`.
    """
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
    """Yield the queries of the kind "dataset", best first. Some of them may tell a secret, or repeat an earlier one."""
    question = gold.question.question
    aimed_queries = [aim.query for aim in _aims(gold, shown, seen_words)]
    yield from aimed_queries
    for query in aimed_queries:
        yield keywords(query)
        yield f"{query} {question}"

    yield from (f"{question} {passage.title}" for passage in gold.passages if passage.id in shown)
    yield question
    yield from (passage.title for passage in gold.passages if passage.id not in shown)
    yield from _word_queries(question)


def _alike_queries(gold: GoldQuestion, shown: Collection[str], seen_words: str) -> Iterator[str]:
    """Yield the queries of the kind "alike", best first. Some of them may tell a secret, or repeat an earlier one."""
    question = gold.question.question
    shown_passages = [passage for passage in gold.passages if passage.id in shown]
    shown_words = fold_words(" ".join(f"{passage.title} {passage.text}" for passage in shown_passages))
    # The words of the question that no shown passage contains: what the reader still has to find out.
    open_words = " ".join(word for word in keywords(question).split() if fold_words(word) not in shown_words)

    yield question
    titles = [passage.title for passage in shown_passages]
    # A name may stand in several texts, and it may be a title. Each is used once.
    for name in dict.fromkeys([*titles, *_new_names(shown_passages, question, seen_words)]):
        yield f"{name} {open_words}"
    yield from _word_queries(question)


def _new_names(shown_passages: list[Passage], question: str, seen_words: str) -> list[str]:
    """List the names in the texts of shown passages that were really seen, and that the question lacks.

    Sometimes a prompt shows only a part of a passage. A name in another part was not seen.
    """
    question_words = fold_words(question)
    names = [name for passage in shown_passages for name in _names(passage.text)]
    return [name for name in names if fold_words(name) in seen_words and fold_words(name) not in question_words]


def _word_queries(question: str) -> Iterator[str]:
    """Yield the keywords of a question, then their first half, then their second half."""
    words = keywords(question).split()
    middle = len(words) // 2
    yield " ".join(words)
    yield " ".join(words[:middle])
    yield " ".join(words[middle:])


def _names(text: str) -> Iterator[str]:
    """Yield each sequence of capitalised words, without small words at its beginning.

    For example, ``_names("The Orange County lies near Los Angeles.")`` yields ``["Orange County", "Los Angeles"]``.
    """
    for is_capitalised, tokens in groupby(_TOKEN.findall(text), key=lambda token: token[0].isupper()):
        if not is_capitalised:
            continue
        # "The" begins with a capital letter only because a sentence begins.
        name = " ".join(dropwhile(lambda token: token.lower() in _SMALL_WORDS, tokens))
        if name:
            yield name


def _aims(gold: GoldQuestion, shown: Collection[str], seen_words: str) -> list[_Aim]:
    """List what the reader still has to find out and can ask for: first the sub-questions, then the facts."""
    return [*_open_sub_questions(gold.question, shown), *_open_facts(gold, shown, seen_words)]


def _open_sub_questions(question: Question, shown: Collection[str]) -> Iterator[_Aim]:
    """Yield each sub-question whose passage is missing.

    A sub-question may refer to the answers of earlier ones, as "Where stands #1?" does. The answers replace the
    references. The sub-question is left out if the reader does not know such an answer yet.
    """
    # The known answers, by the number of the sub-question.
    answers: dict[str, str] = {}
    for number, hop in enumerate(question.decomposition, start=1):
        if hop.supporting_id in shown:
            answers[str(number)] = hop.answer

    for hop in question.decomposition:
        references = set(_REFERENCE.findall(hop.question))
        knows_all_answers = references <= set(answers)
        if hop.supporting_id not in shown and knows_all_answers:
            text = _REFERENCE.sub(lambda reference: answers[reference[1]], hop.question)
            # MuSiQue writes some sub-questions as "subject >> relation".
            yield _Aim(text.replace(" >> ", " "), hop.supporting_id)


def _open_facts(gold: GoldQuestion, shown: Collection[str], seen_words: str) -> Iterator[_Aim]:
    """Yield each fact that is missing and whose subject was shown, as "subject relation".

    A fact is missing if the passage about its subject was not shown. If there is no such passage, it is missing if its
    value was not seen.
    """
    for subject, relation, value in gold.question.evidence_triples:
        if fold_words(subject) not in seen_words:
            continue

        query = f"{subject} {relation}"
        passage = find_about(subject, gold.passages)
        if passage is not None and passage.id not in shown:
            yield _Aim(query, passage.id)
        elif passage is None and fold_words(value) not in seen_words:
            yield _Aim(query, None)


def keywords(text: str) -> str:
    """Drop the words of a text that a search engine ignores.

    For example, ``keywords("Who was the director of Jaws?")`` returns ``"director Jaws"``.

    :param text: The text.
    :returns: The other words, with single spaces. It may be empty.
    """
    return " ".join(word for word in re.findall(r"\w+", text) if word.lower() not in _SMALL_WORDS)
