"""Train the classifier of questions."""

from prefrag.training.question_classifier.training import train_questions

__all__ = ["train_questions"]
