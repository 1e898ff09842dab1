"""Train the decision trees that choose how much retrieval a question needs: none, one search, or several."""

from prefrag.training.question_classifier.training import train_questions

__all__ = ["train_questions"]
