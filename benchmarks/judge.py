"""Measure the decision trees of the judge on the dev questions: accuracy with intervals, and area under the curve.

    python benchmarks/judge.py [--data FOLDER] [--seed 7] [--elsewhere]
    python benchmarks/judge.py --shipped
    python benchmarks/judge.py --model 100

The judged steps come from runs with the queries of the simulated reader and a perfect judge. The field `source` divides
each corpus between two sources. A search returns the top 5 of 50 candidates after the title ranker, and a question has
at most three searches. In runs called "first kept", the result of the first search is kept without a verdict, as in the
pipelines. Intervals are from 1,000 bootstrap samples of questions. For comparison, "majority" is the accuracy of always
giving the more frequent verdict. "Kept" and "left" count the needed results that are kept and the other results that
are rejected, with Wilson's interval.

The trees are trained on the train questions of all datasets and on questions about a user's own files, as the shipped
trees were with seed 7. `--shipped` measures the shipped trees without training. `--elsewhere` also measures trees that
were not trained on the measured dataset. `--model` instead compares the trees with the language model that the
environment names (PREFRAG_JUDGE_BASE_URL, PREFRAG_LLM_BASE_URL, PREFRAG_LLM_GGUF), on this many steps of each dataset.
The model gets the prompt of the pipelines.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from scipy.stats import mannwhitneyu  # noqa: E402

from benchmarks.places import DATA, MULTIHOP  # noqa: E402
from prefrag.components.generators.chat_model import ChatModel  # noqa: E402
from prefrag.components.judge.model_judge import ModelJudge  # noqa: E402
from prefrag.components.judge.source_switch_judge import SourceSwitchJudge  # noqa: E402
from prefrag.components.judge.switch_features import FEATURES, switch_features  # noqa: E402
from prefrag.components.judge.tree_judge import (  # noqa: E402
    COST_OF_LEAVING,
    SHIPPED_TREES,
    find_unknown,
    keep_probability,
    least_probability,
)
from prefrag.components.state.state import Action, Search, Step, Verdict  # noqa: E402
from prefrag.components.state.state_builder import StateBuilder  # noqa: E402
from prefrag.components.trees import BoostedTrees, load_trees  # noqa: E402
from prefrag.evaluation.report.intervals import wilson  # noqa: E402
from prefrag.training.dataset import Dataset  # noqa: E402
from prefrag.training.judge_classifier.steps import JudgedStep, simulated_steps, two_sources  # noqa: E402
from prefrag.training.judge_classifier.training import TrainingStep, fit, home_training_steps, training_steps  # noqa: E402
from prefrag.training.tree_training import read_booster  # noqa: E402

DATASETS = ("hotpotqa", "musique", "2wikimultihopqa", "bioasq")
SAMPLES = 1_000
LEAST = least_probability(COST_OF_LEAVING)
Numbers = Callable[[Sequence[JudgedStep]], list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=MULTIHOP, help="the folder of the datasets")
    parser.add_argument("--home", type=Path, default=DATA / "reading" / "train.jsonl", help="questions on long texts")
    parser.add_argument("--seed", type=int, default=7, help="the seed of the training and of the bootstrap")
    parser.add_argument("--model", type=int, metavar="STEPS", help="call the language model on this many steps")
    parser.add_argument("--elsewhere", action="store_true", help="also measure trees not trained on the dataset")
    parser.add_argument("--shipped", action="store_true", help="measure the shipped trees, without training")
    options = parser.parse_args()
    if not options.data.is_dir():
        parser.error(f"{options.data} does not exist: give the folder of the datasets with --data")

    def dataset(name: str, part: str) -> Dataset:
        return Dataset(options.data / name / f"{part}.jsonl", options.data / name / "corpus.jsonl")

    if options.model:
        for name in DATASETS:
            steps = dev_steps(dataset(name, "dev"), options.seed)["judged"]
            judge_with_model(name, random.Random(options.seed).sample(steps, min(options.model, len(steps))))
        return
    if options.shipped:
        trees = load_trees(SHIPPED_TREES, FEATURES)
    else:
        taught = {name: list(training_steps(dataset(name, "train"), options.seed)) for name in DATASETS}
        taught["home"] = list(home_training_steps(options.home, options.seed))
        trees = train([step for steps in taught.values() for step in steps], options.seed)
    measured = {name: dev_steps(dataset(name, "dev"), options.seed) for name in DATASETS}
    for name, runs in measured.items():
        for kind, steps in runs.items():
            for part, chosen in (("all steps", steps), ("after the first", [step for step in steps if step.step])):
                title = f"{name}, {kind}, {part}"
                report(title, "classifier", chosen, score_with(trees), LEAST, options.seed)
    if options.elsewhere and not options.shipped:
        for name, runs in measured.items():
            others = [step for other, steps in taught.items() if other != name for step in steps]
            apart = train(others, options.seed)
            for kind, steps in runs.items():
                report(f"{name}, {kind}, all steps", "trained elsewhere", steps, score_with(apart), LEAST, options.seed)
    time_verdict(dataset("musique", "dev"), trees, options.seed)


def dev_steps(dataset: Dataset, seed: int) -> dict[str, list[JudgedStep]]:
    """Simulate runs that judge the first search and runs that keep its result. Return the steps of both."""
    questions, passages = dataset.read()
    texts = {passage.id: passage for passage in passages}
    with two_sources(passages, seed) as sources:
        return {
            "judged": list(simulated_steps(questions, sources, texts)),
            "first kept": list(simulated_steps(questions, sources, texts, judge_first_step=False)),
        }


def judge_with_model(name: str, steps: Sequence[JudgedStep]) -> None:
    """Print how well the language model and the shipped trees judge the same steps."""
    model = ChatModel(role="judge", timeout=600.0)
    judge = SourceSwitchJudge(["local", "web"], ModelJudge(model), judge_first_step=True)
    judge.warm_up()
    verdicts = [call_judge(judge, step) for step in steps]
    share = mean(verdict.status for verdict in verdicts)
    unreadable = sum(not verdict.parsed for verdict in verdicts)
    print(
        f"{name}: the model keeps {share:.2f} of {len(steps)} steps, {unreadable} replies unreadable (taken as False)"
    )
    report(name, "model", steps, lambda _: [float(verdict.status) for verdict in verdicts], 0.5)
    report(name, "shipped classifier", steps, score_with(load_trees(SHIPPED_TREES, FEATURES)), LEAST)


def call_judge(judge: SourceSwitchJudge, step: JudgedStep) -> Verdict:
    """Call the judge on a step of a run."""
    state = StateBuilder(["local", "web"], "local").run(step.question)["state"]
    if step.observed:
        state = state.with_step(Step(Action.SEARCH, documents=step.observed, observed=True))
    search = Search("local", step.query, step.passages)
    state = state.with_step(Step(Action.SEARCH, query=step.query, searches=(search,)))
    (after,) = judge.run(state).values()
    assert after.step.verdict is not None
    return after.step.verdict


def train(steps: Sequence[TrainingStep], seed: int) -> BoostedTrees:
    """Train trees as `prefrag train judge` does."""
    return read_booster(fit(steps, seed))


def score_with(trees: BoostedTrees) -> Numbers:
    """Return a function that scores steps by the probability of the trees, or 1 if a feature is outside their range."""

    def score(steps: Sequence[JudgedStep]) -> list[float]:
        scores = []
        for step in steps:
            is_unknown = bool(find_unknown(trees, step.features))
            scores.append(1.0 if is_unknown else keep_probability(trees, step.features))
        return scores

    return score


def report(
    title: str, judge: str, steps: Sequence[JudgedStep], number: Numbers, threshold: float, seed: int = 7
) -> None:
    """Print the accuracy and the area under the curve of one judge."""
    scores = number(steps)
    right = [step.keep == (score >= threshold) for step, score in zip(steps, scores, strict=True)]
    low, high = interval(steps, right, seed)
    keeping = [score for step, score in zip(steps, scores, strict=True) if step.keep]
    switched = [score for step, score in zip(steps, scores, strict=True) if not step.keep]
    area = float("nan")
    if keeping and switched:
        area = mannwhitneyu(keeping, switched).statistic / (len(keeping) * len(switched))
    majority = max(len(keeping), len(switched)) / len(steps)
    right_of_keeping = describe([score >= threshold for score in keeping])
    right_of_switched = describe([score < threshold for score in switched])
    print(
        f"{title:45} {judge:18} n {len(steps):4}  keep {len(keeping) / len(steps):.2f}  "
        f"accuracy {sum(right) / len(right):.3f} [{low:.3f}, {high:.3f}]  area {area:.3f}  "
        f"majority {majority:.3f}  kept {right_of_keeping}  left {right_of_switched}",
        flush=True,
    )


def describe(right: Sequence[bool]) -> str:
    """Describe a share with counts and Wilson's interval, which treats the steps of a question as independent."""
    if not right:
        return "none"
    share = wilson(100 * sum(right) / len(right), len(right))
    return f"{sum(right)} of {len(right)} [{share.low / 100:.2f}, {share.high / 100:.2f}]"


def interval(steps: Sequence[JudgedStep], right: Sequence[bool], seed: int) -> tuple[float, float]:
    """Return the bounds of the middle 95% of the accuracies over bootstrap samples of questions."""
    of_question: dict[str, list[bool]] = {}
    for step, correct in zip(steps, right, strict=True):
        of_question.setdefault(step.question_id, []).append(correct)
    groups = list(of_question.values())
    draw = random.Random(seed)
    accuracies = []
    for _ in range(SAMPLES):
        sample = draw.choices(groups, k=len(groups))
        accuracies.append(sum(map(sum, sample)) / sum(map(len, sample)))
    accuracies.sort()
    return accuracies[int(0.025 * SAMPLES)], accuracies[int(0.975 * SAMPLES) - 1]


def time_verdict(dataset: Dataset, trees: BoostedTrees, seed: int) -> None:
    """Print how long a verdict takes (features and trees) for five new passages and ten that were shown before."""
    questions, passages = dataset.read()
    with two_sources(passages, seed) as sources:
        wall, work = [], []
        for question in questions:
            new, shown = sources.local.search(question.question, 5), sources.web.search(question.question, 10)
            started, worked = time.perf_counter(), time.process_time()
            features = switch_features(question.question, question.question, new, shown, 1, sources.local)
            keep_probability(trees, features)
            wall.append((time.perf_counter() - started) * 1000)
            work.append((time.process_time() - worked) * 1000)
    print(f"a verdict: {median(wall):.1f} ms, CPU {median(work):.1f} ms (median of {len(wall)}, five new, ten shown)")


if __name__ == "__main__":
    main()
