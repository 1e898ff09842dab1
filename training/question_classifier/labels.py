"""Label each question with the simplest strategy that answers it (section 3.2 of Adaptive-RAG).

There are three strategies: no retrieval, one search, and several searches. Each strategy is a pipeline that is run on
the question. If no strategy answers the question, it gets the default class of its dataset, which the paper calls the
bias of the dataset.
"""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from prefrag.components.adaptive_rag.question_classifier import CLASSES, QuestionClass
from prefrag.evaluation.pipeline_under_test.experiment import Experiment
from prefrag.evaluation.runs import runner
from prefrag.training.dataset import Dataset

#: The pipeline of each class, simplest first. The first pipeline with the right answer decides a question's class.
STRATEGIES: dict[QuestionClass, str] = {
    "no_retrieval": "no_retrieval",
    "single_step": "vanilla_local",
    "multi_step": "ircot",
}
# At most this number of questions is labelled without running a strategy. The paper's code takes 400 of each dataset.
MOST_SINGLE_HOP = 400


@dataclass(frozen=True)
class LabelledQuestion:
    """A question with its class."""

    dataset: str  # the name of the dataset
    question: str
    label: QuestionClass  # the class
    silver: bool  # True if a strategy's right answer gave the class; False if it is the default class of the dataset


def choose_label(right: Mapping[QuestionClass, bool], bias: QuestionClass) -> tuple[QuestionClass, bool]:
    """Choose the class of a question.

    :param right: For each class, whether the answer of its strategy is right.
    :param bias: The default class of the dataset.
    :returns: The class of the simplest right strategy, and True. If no strategy is right, the default class and False.
    """
    for name in CLASSES:
        if right.get(name):
            return name, True
    return bias, False


def label_dataset(
    dataset: Dataset,
    bias: QuestionClass,
    experiment: Experiment,
    folder: Path,
    strategies: Mapping[QuestionClass, str] = STRATEGIES,
    concurrency: int = 4,
) -> list[LabelledQuestion]:
    """Run every strategy on the questions of a dataset, or continue unfinished runs, and label the questions.

    As in the published code, an answer is right if it equals a gold answer after both are normalised.

    :param dataset: The dataset.
    :param bias: The default class, for questions that no strategy answers.
    :param experiment: The model that answers, and further settings of the runs.
    :param folder: The folder of the runs.
    :param strategies: The pipeline of each class.
    :param concurrency: How many questions run at the same time.
    :returns: The questions with their classes.
    :raises ValueError: If the dataset has no file of passages, or if a question fails.
    """
    if dataset.corpus is None:
        raise ValueError(f"{dataset.name} has no corpus: give QUESTIONS.jsonl:CORPUS.jsonl to search.")
    # For each question's id, whether the answer of each strategy is right.
    are_right: dict[str, dict[QuestionClass, bool]] = {}
    text_of_id: dict[str, str] = {}
    for name, pipeline in strategies.items():
        settings = replace(experiment, corpus=dataset.corpus, split=False)
        output = folder / dataset.name.replace("/", "-") / name
        run = runner.run(
            pipeline,
            dataset.questions,
            settings,
            output=output,
            concurrency=concurrency,
            retry_failed=True,
            contents=False,
            progress=False,
        )
        failed = [prediction for prediction in run.predictions if prediction["error"]]
        if failed:
            raise ValueError(
                f"{len(failed)} questions of {dataset.name} failed with {Path(pipeline).stem}. The first error: "
                f"{failed[0]['error']} Repeat the command to run these questions again."
            )
        for prediction in run.predictions:
            text_of_id[prediction["id"]] = prediction["question"]
            are_right.setdefault(prediction["id"], {})[name] = prediction["scores"]["em"] == 1
    labelled = []
    for question_id, text in text_of_id.items():
        label, silver = choose_label(are_right[question_id], bias)
        labelled.append(LabelledQuestion(dataset.name, text, label, silver))
    return labelled


def read_single_hop(file: Path, seed: int, most: int = MOST_SINGLE_HOP) -> list[LabelledQuestion]:
    """Draw questions on single passages, and label them ``single_step`` without running a strategy.

    :param file: A file of JSON Lines with ``question``.
    :param seed: The seed of the draw.
    :param most: The maximum number of questions.
    :returns: The questions with their class.
    :raises ValueError: If a line cannot be read.
    """
    texts: list[str] = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            try:
                texts.append(str(json.loads(line)["question"]))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{file}, line {number}: give a JSON object with a `question`.") from error
    # Each question once, in the order of the file.
    questions = list(dict.fromkeys(texts))
    drawn = random.Random(seed).sample(questions, min(most, len(questions)))
    name = f"{file.parent.name}/{file.stem}"
    return [LabelledQuestion(name, question, "single_step", False) for question in drawn]
