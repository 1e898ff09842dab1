"""The policy of the simulated reader: its settings, its random draws and its wrong answers."""

import string
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import Any, Literal, get_args

from prefrag.evaluation.question import Question
from prefrag.evaluation.simulated_reader.gold import YesNo, fold_words

SourceChoice = Literal["drawn", "first", "last", "oracle"]
SecondTry = Literal["source", "query"]
Queries = Literal["dataset", "alike"]

_RATES = (
    *("judge_error", "reflection_error", "stopping_error", "source_error"),
    *("distraction", "answer_error", "memory"),
)
_CHOICES = {"source_choice": SourceChoice, "second_try": SecondTry, "yes_no": YesNo, "queries": Queries}
# What each choice means, for readers of the figures.
_WORDS = {
    "source_choice": {
        "drawn": "where the model names the source, it draws one",
        "first": "where the model names the source, it names the first one first",
        "last": "where the model names the source, it names the last one first",
        "oracle": "where the model names the source, it names the one that holds what it searches for",
    },
    "second_try": {"query": "after a search that found nothing missing, it searches with a new query"},
    "yes_no": {
        "one": "one gold passage is enough for yes or no",
        "half": "half of the gold passages, at most five, are enough for yes or no",
        "all": "yes or no needs all gold passages",
    },
    "queries": {
        "dataset": "queries from the sub-questions, facts or titles of the dataset",
        "alike": "queries of one kind on every dataset",
    },
}
_MORE_LETTERS = range(0x4E00, 0xA000)
_WORD_LETTERS = 9


@dataclass(frozen=True)
class PolicySettings:
    """What the simulated reader does when a language model would decide.

    docs/evaluation.md says what each setting means.
    """

    judge_error: float = 0.0
    reflection_error: float = 0.0
    stopping_error: float = 0.0
    source_error: float = 0.0
    distraction: float = 0.0
    answer_error: float = 0.0
    memory: float = 0.0
    source_choice: SourceChoice = "drawn"
    second_try: SecondTry = "source"
    yes_no: YesNo = "one"
    queries: Queries = "dataset"

    def __post_init__(self) -> None:
        for name in _RATES:
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}: set it between 0 and 1.")
        for name, choice in _CHOICES.items():
            if getattr(self, name) not in get_args(choice):
                raise ValueError(f"{name} is '{getattr(self, name)}': set it to {' or '.join(get_args(choice))}.")


@dataclass(frozen=True)
class Policy(PolicySettings):
    """The policy of one run."""

    seed: int = 0  # of all draws


def describe_policy(settings: Mapping[str, Any]) -> str:
    """Describe the policy of a run in words."""
    choices = [words[settings[name]] for name, words in _WORDS.items() if settings.get(name) in words]
    rates = [f"{name.replace('_', ' ')} {settings[name]:g}" for name in _RATES if settings.get(name)]
    return "; ".join([*choices, *rates, f"seed {settings.get('seed') or 0}"])


def draw(seed: int, *situation: object) -> float:
    """Draw a number that depends only on the seed and the situation, not on the order of the calls."""
    digest = blake2b(repr((seed, *situation)).encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def wrong_answer(question: Question, seed: int) -> str:
    """Make a wrong answer to which no metric gives a point."""
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
    """Check whether an answer contains a right one, but not both yes and no."""
    words = fold_words(answer)
    if question.is_yes_no and " yes " in words and " no " in words:
        return False
    # A gold answer without letters or digits has no words to search for.
    names = [fold_words(right) for right in question.answers if fold_words(right).strip()]
    return answer.strip() in question.answers or any(name in words for name in names)
