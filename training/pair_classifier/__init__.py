"""Train boosted decision trees for DR-RAG's classifier of pairs of documents.

The classifier decides which of the retrieved documents are needed for a question. It reads two documents at a time.
"""

from prefrag.training.pair_classifier.pool import Pool, pools
from prefrag.training.pair_classifier.trees import Recall, fit, recall, shares_found, train_pairs

__all__ = ["Pool", "Recall", "fit", "pools", "recall", "shares_found", "train_pairs"]
