"""The policy of the simulated reader: its settings, its random draws and its wrong answers.

The policy says how the reader decides, and how often it is wrong.
"""

import string
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import Any, Literal, get_args

from prefrag.evaluation.question import Question
from prefrag.evaluation.simulated_reader.gold import YesNo, fold_words

# How the reader chooses a source where the model names it: at random, the first, the last, or the source that has the
# missing passage.
SourceChoice = Literal["drawn", "first", "last", "oracle"]
# What the reader does after a search that brought nothing useful: ask another source, or try a new query.
SecondTry = Literal["source", "query"]
# What the reader asks for: sub-questions and facts of the dataset, or the same kind of queries on every dataset.
Queries = Literal["dataset", "alike"]

# The settings that are probabilities, from 0 to 1.
_RATES = (
    "judge_error",
    "reflection_error",
    "stopping_error",
    "source_error",
    "distraction",
    "answer_error",
    "memory",
)
# The settings that choose from a few values, with these values.
_CHOICES = {"source_choice": SourceChoice, "second_try": SecondTry, "yes_no": YesNo, "queries": Queries}
# The words with which `prefrag evaluate` describes each choice. Choices that are left out are not described.
_WORDS = {
    "source_choice": {
        "drawn": "if a step names its source, the reader picks a source at random",
        "first": "if a step names its source, the reader tries the first source first",
        "last": "if a step names its source, the reader tries the last source first",
        "oracle": "if a step names its source, the reader names the source that holds the passage it looks for",
    },
    "second_try": {"query": "after a search that found nothing useful, the reader tries a new query first"},
    "yes_no": {
        "one": "one gold passage is enough for yes or no",
        "half": "half of the gold passages, at most five, are enough for yes or no",
        "all": "yes or no needs all gold passages",
    },
    "queries": {
        "dataset": "queries from the sub-questions, facts or titles of the dataset",
        "alike": "the same kind of queries on every dataset",
    },
}
# Chinese characters. Wrong answers are made of them if no Latin letter is left.
_MORE_LETTERS = range(0x4E00, 0xA000)
# A wrong answer has this number of letters.
_ANSWER_LETTERS = 9


@dataclass(frozen=True)
class PolicySettings:
    """How the simulated reader decides, and how often it is wrong. docs/evaluation.md explains each setting.

    The settings that are floats are probabilities, from 0 to 1.

    :param judge_error: How often the reader is wrong about passages.
    :param reflection_error: How often it is wrong about the label of its answer.
    :param stopping_error: How often it is wrong about whether to search again.
    :param source_error: How often it is wrong about the source that it names.
    :param distraction: The probability that one irrelevant passage spoils a right answer.
    :param answer_error: How often it answers wrongly although it was shown enough.
    :param memory: How often it knows the answer without any passage.
    :param source_choice: How it chooses the source where the model names it.
    :param second_try: What it does after a search that brought no missing passage.
    :param yes_no: How many gold passages it needs for a yes/no question.
    :param queries: What it asks for.
    :raises ValueError: If a setting has another value than these.
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
    """All settings of the simulated reader in one run, including the seed.

    :param seed: The seed of all draws.
    """

    seed: int = 0


def describe_policy(settings: Mapping[str, Any]) -> str:
    """Describe the policy of a run in words.

    For example, ``describe_policy({"judge_error": 0.1, "seed": 3})`` returns ``"judge error 0.1; seed 3"``.

    :param settings: The settings by name. Missing settings are not described.
    :returns: The description.
    """
    choices = [words[settings[name]] for name, words in _WORDS.items() if settings.get(name) in words]
    rates = [f"{name.replace('_', ' ')} {settings[name]:g}" for name in _RATES if settings.get(name)]
    return "; ".join([*choices, *rates, f"seed {settings.get('seed') or 0}"])


def draw(seed: int, *situation: object) -> float:
    """Draw a number that depends only on the seed and the situation, not on the order of calls.

    :param seed: The seed.
    :param situation: What the draw is for, such as the id of the question and the number of the step.
    :returns: A number from 0 to 1.
    """
    digest = blake2b(repr((seed, *situation)).encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def wrong_answer(question: Question, seed: int) -> str:
    """Make an answer that scores 0 in every metric.

    For a yes/no question, this is the other word. For any other question, it is a text of letters that occur in no gold
    answer.

    :param question: The question.
    :param seed: The seed of the letters.
    :returns: The answer.
    """
    answers = {answer.strip().lower() for answer in question.answers}
    if question.is_yes_no and len(answers) == 1:
        return "no" if answers == {"yes"} else "yes"
    # The gold answers are taken with composed and with separate accents, in all forms of upper and lower case.
    all_answers = " ".join(question.answers)
    gold_text = unicodedata.normalize("NFC", all_answers) + unicodedata.normalize("NFKD", all_answers)
    used_letters = set(gold_text + gold_text.lower() + gold_text.upper() + gold_text.casefold())
    letters = [letter for letter in string.ascii_lowercase if letter not in used_letters]
    if not letters:
        # A long list of aliases may contain every Latin letter.
        more_letters = (letter for letter in map(chr, _MORE_LETTERS) if letter not in used_letters)
        letters = list(islice(more_letters, 9))

    answer = ""
    for number in range(_ANSWER_LETTERS):
        position = int(draw(seed, question.id, "letter", number) * len(letters))
        answer += letters[position]
    return answer


def is_right(question: Question, answer: str) -> bool:
    """Check whether an answer contains a gold answer as whole words.

    An answer to a yes/no question must not contain both words.

    :param question: The question.
    :param answer: The answer.
    :returns: True if the answer is right.
    """
    words = fold_words(answer)
    if question.is_yes_no and " yes " in words and " no " in words:
        return False
    # A gold answer without letters or digits has no words to search for. It must be equal to the answer.
    if answer.strip() in question.answers:
        return True
    golds = [fold_words(right) for right in question.answers]
    return any(gold in words for gold in golds if gold.strip())
