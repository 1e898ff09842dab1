"""The question classifier that uses small boosted decision trees."""

from pathlib import Path

from prefrag.components.adaptive_rag.question_classifier import CLASSES, Estimate
from prefrag.components.adaptive_rag.question_features import FEATURES, question_features
from prefrag.components.block import Block
from prefrag.components.both_ways import as_async
from prefrag.components.reader.question_form import looks_english
from prefrag.components.trees import BoostedTrees, load_trees

SHIPPED_TREES = Path(__file__).parent / "question_trees.json"
NOT_ENGLISH = "the classifier was trained on English questions only"


class TreeQuestionClassifier(Block):
    """Classify a question with boosted decision trees, in less than a millisecond.

    ```python
    from prefrag.components.adaptive_rag.tree_question_classifier import TreeQuestionClassifier

    print(TreeQuestionClassifier().classify("Who is the mother of the director of Polish-Russian War?"))
    ```
    """

    def __init__(self, trees: str | None = None):
        """Set up the classifier.

        :param trees: A file written by ``prefrag train questions``; by default the file shipped with this package.
        :raises ValueError: When the path is empty.
        """
        if trees is not None and not trees:
            raise ValueError("trees is empty: give the file of the trees, or null for the shipped file.")
        self.trees = trees

    def warm_up(self) -> None:
        """Load the file. Raises TreesMissing if it does not exist, and ValueError if it has trees for another task."""
        self._load()

    def classify(self, question: str) -> Estimate:
        """Classify a question by its text alone."""
        (probabilities,) = self._load().distributions([question_features(question)])
        return Estimate(probabilities, "" if looks_english(question) else NOT_ENGLISH)

    classify_async = as_async(classify)

    def _load(self) -> BoostedTrees:
        file = Path(self.trees) if self.trees else SHIPPED_TREES
        trees = load_trees(file, FEATURES)
        if not trees.classes or not set(trees.classes) <= set(CLASSES):
            raise ValueError(
                f"{file} contains no decision trees for questions: train them with `prefrag train questions`."
            )
        return trees
