"""Train the trees of the judge."""

from prefrag.training.judge_classifier.training import train_judge

__all__ = ["train_judge"]
