"""The component that decides how much retrieval a question needs.

A question classifier estimates a probability for each class of questions. The router chooses a class from these
probabilities and sends the state to the output of the class.
"""

from collections.abc import Mapping, Sequence

from haystack import component

from prefrag.components.adaptive_rag.question_classifier import CLASSES, QuestionClassifier
from prefrag.components.both_ways import as_blocking, call_matching
from prefrag.components.state.state import State

# The name of this component's event in the trace.
EVENT = "question_class"


@component
class QuestionRouter:
    """Send a question to the branch of its class: no retrieval, one search or several (section 3.2 of Adaptive-RAG).

    The most probable of the allowed classes is chosen. If its probability is too low, the next class with more
    retrieval is tried. If the classifier says that its estimate is only a guess, the class with the most retrieval is
    chosen.

    Usage example:
    ```python
    from prefrag.components.adaptive_rag.question_router import QuestionRouter
    from prefrag.components.adaptive_rag.tree_question_classifier import TreeQuestionClassifier

    router = QuestionRouter(TreeQuestionClassifier(), classes=["single_step", "multi_step"])
    ```
    """

    def __init__(
        self,
        classifier: QuestionClassifier,
        classes: Sequence[str] = CLASSES,
        least_probability: Mapping[str, float] | None = None,
    ):
        """Set up the component.

        :param classifier: The classifier of questions, such as a ``TreeQuestionClassifier``.
        :param classes: The allowed classes: some or all of ``no_retrieval``, ``single_step`` and ``multi_step``.
        :param least_probability: The probability (0 to 1) that a class must have. Below this, the next class is tried.
            A class that is not named needs no probability. The probabilities are first scaled, so that those of the
            allowed classes add up to 1.
        :raises ValueError: For an unknown class, no class, or a probability out of range.
        """
        least = dict(least_probability or {})
        if not classes:
            raise ValueError(f"`classes` is empty: name one of {', '.join(CLASSES)}.")
        unknown = [name for name in (*classes, *least) if name not in CLASSES]
        if unknown:
            raise ValueError(f"There is no question class '{unknown[0]}': choose from {', '.join(CLASSES)}.")
        for name, probability in least.items():
            if not 0 <= probability <= 1:
                raise ValueError(f"least_probability of {name} is {probability}: set it between 0 and 1.")
        self.classifier = classifier
        self.classes = list(classes)
        self.least_probability = least

    def warm_up(self) -> None:
        """Load the classifier."""
        self.classifier.warm_up()

    @component.output_types(no_retrieval=State, single_step=State, multi_step=State)
    async def run_async(self, state: State) -> dict[str, State]:
        """Classify the question, and choose the output.

        :param state: The state at the start of a run.
        :returns: A dictionary with the chosen class as its key: the state, with the decision in its trace.
        """
        estimate = await call_matching(self.classifier.classify, self.classifier.classify_async, state.question)

        # The allowed classes, from the least retrieval to the most.
        open_classes = [name for name in CLASSES if name in self.classes]
        shares: dict[str, float] = {name: estimate.probabilities.get(name, 0.0) for name in open_classes}
        total = sum(shares.values())
        if total:
            probabilities = {name: value / total for name, value in shares.items()}
        else:
            # The classifier gives no probability to any allowed class, so all of them are equally likely.
            probabilities = dict.fromkeys(shares, 1 / len(shares))

        chosen, reason = self._choose(open_classes, probabilities, estimate.doubt)
        event = {
            "chosen": chosen,
            "probability": round(probabilities[chosen], 4),
            "probabilities": {name: round(value, 4) for name, value in probabilities.items()},
            "reason": reason,
        }
        return {chosen: state.with_event(EVENT, **event)}

    run = as_blocking(run_async)

    def _choose(self, open_classes: Sequence[str], probabilities: Mapping[str, float], doubt: str) -> tuple[str, str]:
        """Choose a class, and say why. ``doubt`` says why the probabilities are only a guess, or is empty."""
        most = open_classes[-1]
        if len(open_classes) == 1:
            return most, "no other class is allowed"
        if doubt:
            return most, f"{doubt}, so the class with the most retrieval is chosen"

        # If two classes are equally probable, the class with more retrieval is taken.
        likeliest = max(reversed(open_classes), key=lambda name: probabilities[name])
        # If it is not probable enough to be chosen, the next class with more retrieval is tried. The class with the
        # most retrieval may always be chosen.
        chosen = most
        for name in open_classes[open_classes.index(likeliest) :]:
            if probabilities[name] >= self.least_probability.get(name, 0.0):
                chosen = name
                break
        if chosen == likeliest:
            return chosen, "the likeliest class"
        return chosen, (
            f"{likeliest} is the likeliest class with {probabilities[likeliest]:.0%}, but needs "
            f"{self.least_probability[likeliest]:.0%} to be chosen"
        )
