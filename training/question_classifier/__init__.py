"""Train the classifier of questions."""

from prefrag.training.question_classifier.results import QuestionTraining
from prefrag.training.question_classifier.training import train_questions

__all__ = ["QuestionTraining", "train_questions"]
