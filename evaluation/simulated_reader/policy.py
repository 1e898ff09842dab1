"""Choose the queries and the answers of the simulated reader."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Collection, Iterator
from hashlib import blake2b
from itertools import islice

from prefrag.components.agent.reply_formats.fields import plain_query
from prefrag.evaluation.question import Question
from prefrag.evaluation.simulated_reader.gold import GoldQuestion, Passage, fold_words

_REFERENCE = re.compile(r"#(\d+)")
# Words that a search engine ignores.
_SMALL_WORDS = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "been", "by", "did", "do", "does", "for", "from", "had", "has"),
        *("have", "how", "in", "is", "it", "its", "many", "much", "of", "on", "or", "that", "the", "their", "there"),
        *("these", "this", "to", "was", "were", "what", "when", "where", "which", "who", "whom", "whose", "why"),
    )
)
_MORE_LETTERS = range(0x4E00, 0xA000)
_WORD_LETTERS = 9


def draw(seed: int, *situation: object) -> float:
    """Draw a number that depends only on the seed and the situation, not on the order of the calls.

    :param seed: The seed of the run.
    :param situation: The question, the kind of decision, and what else it depends on.
    :returns: A number from 0 to below 1.
    """
    digest = blake2b(repr((seed, *situation)).encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def wrong_answer(question: Question, seed: int) -> str:
    """Answer wrongly, so that no metric gives a point.

    :param question: The question.
    :param seed: The seed of the run.
    :returns: For a yes-or-no question the opposite; otherwise a word of letters that none of its answers holds.
    """
    answers = {answer.strip().lower() for answer in question.answers}
    if question.is_yes_no and len(answers) == 1:
        return "no" if answers == {"yes"} else "yes"
    both = "".join(unicodedata.normalize(form, " ".join(question.answers)) for form in ("NFC", "NFKD"))
    used = set(both + both.lower() + both.upper() + both.casefold())
    latin = [letter for letter in string.ascii_lowercase if letter not in used]
    # A long list of aliases may leave no Latin letter free.
    letters = latin or list(islice((letter for letter in map(chr, _MORE_LETTERS) if letter not in used), 9))
    places = (draw(seed, question.id, "letter", number) for number in range(_WORD_LETTERS))
    return "".join(letters[int(place * len(letters))] for place in places)


def is_right(question: Question, answer: str) -> bool:
    """Check whether an answer names a right one, and not both yes and no."""
    words = fold_words(answer)
    if question.is_yes_no and " yes " in words and " no " in words:
        return False
    # A gold answer without letters or digits has no words to look for.
    names = [fold_words(right) for right in question.answers if fold_words(right).strip()]
    return answer.strip() in question.answers or any(name in words for name in names)


def queries(gold: GoldQuestion, shown: Collection[str], seen: str) -> Iterator[str]:
    """Yield the possible next queries, best first, without gold titles and answers that have not been shown.

    First the sub-questions or facts whose passages are missing and whose names are known, then the same in other words,
    then the question with the title of a shown gold passage, the question, titles that were mentioned, and the words
    of the question.

    :param gold: The question.
    :param shown: The gold passages that have been shown.
    :param seen: All text that has been shown.
    :returns: The queries.
    """
    question = gold.question
    known = fold_words(f"{question.question} {seen}")
    question_words = fold_words(question.question)
    secrets = {fold_words(text) for text in _secrets(gold)} - {fold_words("")}
    secrets = {secret for secret in secrets if secret not in question_words and secret not in known}
    offered = set()
    for open_query in _open_queries(gold, shown, known):
        query = plain_query(open_query)
        words = fold_words(query)
        if not words.strip() or words in offered or any(secret in words for secret in secrets):
            continue
        offered.add(words)
        yield query


def _secrets(gold: GoldQuestion) -> Iterator[str]:
    yield from (passage.title for passage in gold.passages)
    if not gold.question.is_yes_no:
        yield from gold.question.answers
    yield from (hop.answer for hop in gold.question.decomposition)
    for subject, _, value in gold.question.evidence_triples:
        yield from (subject, value)


def _open_queries(gold: GoldQuestion, shown: Collection[str], known: str) -> Iterator[str]:
    question = gold.question.question
    aims = [*_hops(gold.question, shown), *_facts(gold, shown, known)]
    yield from aims
    for aim in aims:
        yield keywords(aim)
        yield f"{aim} {question}"
    yield from (f"{question} {passage.title}" for passage in gold.passages if passage.id in shown)
    yield question
    yield from (passage.title for passage in gold.passages if passage.id not in shown)
    words = keywords(question).split()
    yield " ".join(words)
    yield " ".join(words[: len(words) // 2])
    yield " ".join(words[len(words) // 2 :])


def _hops(question: Question, shown: Collection[str]) -> Iterator[str]:
    """Yield the open sub-questions, earliest first, without those that need an unknown answer."""
    answers = {
        str(number): hop.answer
        for number, hop in enumerate(question.decomposition, start=1)
        if hop.supporting_id in shown
    }
    for hop in question.decomposition:
        if hop.supporting_id not in shown and set(_REFERENCE.findall(hop.question)) <= set(answers):
            yield _REFERENCE.sub(lambda match: answers[match[1]], hop.question).replace(" >> ", " ")


def _facts(gold: GoldQuestion, shown: Collection[str], known: str) -> Iterator[str]:
    """Yield the open facts whose subject is known, as "subject relation"."""
    for subject, relation, value in gold.question.evidence_triples:
        passage = _about(subject, gold.passages)
        is_open = passage.id not in shown if passage else fold_words(value) not in known
        if is_open and fold_words(subject) in known:
            yield f"{subject} {relation}"


def _about(subject: str, passages: tuple[Passage, ...]) -> Passage | None:
    """Return the passage whose title is the subject, or else one whose title shares a part with it."""
    name = fold_words(subject)
    same = (passage for passage in passages if fold_words(passage.title) == name)
    part = (passage for passage in passages if name in fold_words(passage.title) or fold_words(passage.title) in name)
    return next(same, None) or next(part, None)


def keywords(text: str) -> str:
    """Drop from a text what a search engine ignores.

    :param text: The text, such as a question.
    :returns: Its other words.
    """
    return " ".join(word for word in re.findall(r"\w+", text) if word.lower() not in _SMALL_WORDS)
