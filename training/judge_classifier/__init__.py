"""Train the trees behind the judge."""

from prefrag.training.judge_classifier.results import JudgeTraining
from prefrag.training.judge_classifier.training import train_judge

__all__ = ["JudgeTraining", "train_judge"]
