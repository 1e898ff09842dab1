"""Train the trees behind the judge."""

from prefrag.training.judge_classifier.training import JudgeTraining, train_judge

__all__ = ["JudgeTraining", "train_judge"]
