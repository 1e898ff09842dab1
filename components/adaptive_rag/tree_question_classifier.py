"""The question classifier that uses small boosted decision trees.

The trees judge a question by the numbers of `question_features`, such as its number of words and names.
"""

from pathlib import Path

from prefrag.components.adaptive_rag.question_classifier import CLASSES, Estimate
from prefrag.components.adaptive_rag.question_features import FEATURES, question_features
from prefrag.components.block import Block
from prefrag.components.both_ways import as_async
from prefrag.components.reader.question_form import looks_english
from prefrag.components.trees import BoostedTrees, load_trees

# The file of the shipped trees.
SHIPPED_TREES = Path(__file__).parent / "question_trees.json"
# The doubt about the estimate for a question in another language.
NOT_ENGLISH = "the classifier was trained on English questions only"


class TreeQuestionClassifier(Block):
    """Classify a question with boosted decision trees, in less than a millisecond.

    Usage example:
    ```python
    from prefrag.components.adaptive_rag.tree_question_classifier import TreeQuestionClassifier

    print(TreeQuestionClassifier().classify("Who is the mother of the director of Polish-Russian War?"))
    ```
    """

    def __init__(self, trees: str | None = None):
        """Set up the classifier.

        :param trees: The path of a file that ``prefrag train questions`` wrote. If None, the shipped file is used.
        :raises ValueError: When the path is empty.
        """
        if trees is not None and not trees:
            raise ValueError("trees is empty: give the file of the trees, or null for the shipped file.")
        self.trees = trees

    def warm_up(self) -> None:
        """Load the file.

        :raises TreesMissing: When the file does not exist.
        :raises ValueError: When the file has trees for another task.
        """
        self._load()

    def classify(self, question: str) -> Estimate:
        """Classify a question by its text alone.

        :param question: The question.
        :returns: The estimate. It has a doubt if the question is not English.
        """
        (probabilities,) = self._load().distributions([question_features(question)])
        doubt = "" if looks_english(question) else NOT_ENGLISH
        return Estimate(probabilities, doubt)

    classify_async = as_async(classify)

    def _load(self) -> BoostedTrees:
        """Return the trees. Raise ValueError if they do not classify questions."""
        file = Path(self.trees) if self.trees else SHIPPED_TREES
        trees = load_trees(file, FEATURES)
        unknown_classes = set(trees.classes) - set(CLASSES)
        if not trees.classes or unknown_classes:
            raise ValueError(
                f"{file} contains no decision trees for questions: train them with `prefrag train questions`."
            )
        return trees
