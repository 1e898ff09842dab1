"""Train the decision trees that judge whether to switch to another source."""

from prefrag.training.judge_classifier.training import train_judge

__all__ = ["train_judge"]
