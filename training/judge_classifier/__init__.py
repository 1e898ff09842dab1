"""Train the decision trees that judge whether to switch to another source.

The trees score each passage that the preferred source has found. If none is likely to be needed, the run switches.
"""

from prefrag.training.judge_classifier.training import train_judge

__all__ = ["train_judge"]
