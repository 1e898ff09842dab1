"""Collect pairs of replies to train the judge's model.

The steps are:

1. The pipeline answers training questions.
2. At each step of a run that the judge decides, nine replies of the judge's model are sampled.
3. For each of these steps, the gold (right) verdict is found. A reply with this verdict and a reply with the other one
   make a pair.
4. Pairs are drawn so that both gold verdicts occur in a given ratio.
"""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, TypedDict

from haystack.core.pipeline.base import PipelineBase

from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.generators.model_call import ChatGenerator
from prefrag.components.judge.model_judge import ModelJudge
from prefrag.components.judge.source_switch_judge import SourceSwitchJudge
from prefrag.evaluation.datasets import load_questions, read_passages
from prefrag.evaluation.pipeline_under_test.experiment import SIMULATED, Experiment
from prefrag.evaluation.pipeline_under_test.part_files import digest_prompts
from prefrag.evaluation.pipeline_under_test.setup import Setup
from prefrag.evaluation.question import Question
from prefrag.evaluation.runs.run_folder import RunFolder, add_line, read_lines, replace_file
from prefrag.pipelines.asking import RunFailed, ask_async
from prefrag.pipelines.runners import make_runner
from prefrag.pipelines.runners.runner import Runner
from prefrag.settings import models
from prefrag.training.dataset import Dataset
from prefrag.training.judge_dpo.candidates import JudgedStep, draw
from prefrag.training.judge_dpo.labels import GoldModel, GoldPassages, Labels, fold
from prefrag.training.judge_dpo.pairs import (
    Pair,
    SampledStep,
    balance,
    balance_held_out,
    describe,
    drop_repeated,
    make_pair,
)
from prefrag.training.judge_dpo.report import Collected, write_report
from prefrag.training.judge_dpo.sampling_judge import EVENT, SamplingJudge

# The file of the output with the pairs to train on.
PAIRS = "pairs.jsonl"
# The file with the steps that are held out to measure the model.
HELD_OUT = "held_out.jsonl"
# The file with the records of the runs, from which an interrupted collection continues.
STEPS = "steps.jsonl"
# The file with the report.
REPORT = "report.json"
# The collection stops if the first questions all fail: as many as run at the same time, and this number in addition.
_FURTHER_FAILED = 5


@dataclass(frozen=True)
class Plan:
    """How pairs are collected. The defaults are from appendix C of PrefRAG."""

    pipeline: str = "prefrag"
    labels: str = "model"  # where gold verdicts come from: `model` (a stronger model) or `gold` (the gold passages)
    llm: str | None = None  # the model that runs the pipeline, see `Experiment`
    model: str | None = None  # the name of that model on its server
    prompts: str = "product"  # `product` for the prompts that users get, `plain`, or a folder of prompts
    changes: tuple[str, ...] = ()  # changed settings of the pipeline, each NAME=VALUE
    # The verdict that decides how a run continues: `gold`, or `own` (of the model to train, as in the authors' code).
    trajectory: str = "gold"
    schema: bool = True  # whether the sampled replies must follow the judge's JSON schema, as in a pipeline
    # For each question, the number of documents per retrieval is drawn from this range; None for the pipeline's number.
    top_k: tuple[int, int] | None = None
    limit: int | None = 15_000  # the maximum number of questions of each dataset; they are drawn at random
    most_true: int = 3_000  # the maximum number of pairs whose gold verdict is True
    most_false: int = 1_000  # the maximum number of pairs whose gold verdict is False
    canonical: bool = False  # whether a template may stand in for the preferred or the rejected reply
    held_out: float = 0.05  # the share of questions, 0 to 1, whose steps are held out to measure the model
    held_out_steps: int = 400  # the maximum number of steps in the file `held_out.jsonl`
    deadline: float = 600.0  # the maximum number of seconds for one question
    seed: int = 7  # the seed of all random draws

    def __post_init__(self) -> None:
        if self.labels not in ("model", "gold"):
            raise ValueError(f"labels is '{self.labels}': set it to model or gold.")
        if self.trajectory not in ("gold", "own"):
            raise ValueError(f"trajectory is '{self.trajectory}': set it to gold or own.")
        if self.top_k is not None and not 1 <= self.top_k[0] <= self.top_k[1]:
            raise ValueError(f"top_k is {self.top_k}: give the minimum and the maximum of documents, such as 2-5.")
        # Either maximum may be 0, for data in which only one verdict occurs.
        if not 0 <= self.held_out < 1 or min(self.most_true, self.most_false) < 0:
            raise ValueError("held_out must be at least 0 and below 1, most_true and most_false at least 0.")
        if not self.most_true and not self.most_false:
            raise ValueError("most_true and most_false are both 0, so no pair would be kept: raise one of them.")


def collect(
    datasets: Sequence[Dataset],
    output: Path,
    plan: Plan,
    *,
    small: ChatGenerator | None = None,
    gold: ChatGenerator | Callable[[], ChatGenerator] | None = None,
    concurrency: int = 4,
    workers: int | None = None,
    ray: str | None = None,
    on_progress: Callable[[str], None] = lambda line: None,
) -> dict[str, object]:
    """Collect pairs, or continue an interrupted collection.

    :param datasets: The datasets whose questions are run, at least one.
    :param output: The folder of the collection.
    :param plan: How pairs are collected.
    :param small: The model that writes the replies. None uses the judge's own model.
    :param gold: The stronger model, which gives the gold verdicts, or a function that each worker calls to make this
        model. None if gold passages give the verdicts.
    :param concurrency: How many questions each worker runs at the same time.
    :param workers: The number of worker processes. None runs everything in this process.
    :param ray: The address of a Ray cluster that runs the workers, with ``workers``. None uses only this machine.
    :param on_progress: A function that is called with each line of progress.
    :returns: The report, see :func:`write_report`, with the names of the models and the seed.
    :raises ValueError: If the arguments contradict the plan, or if the folder contains another collection.
    :raises ConnectionError: If the first questions all fail.
    """
    if plan.labels == "model" and gold is None:
        raise ValueError("The gold verdicts (labels=model) need a stronger model: name its server, or set labels=gold.")
    if not datasets:
        raise ValueError("There is nothing to run: give at least one dataset.")

    runner = make_runner(concurrency, workers, ray)
    folder = RunFolder(output)
    with folder.lock():
        runs, failed, repeated, models = [], 0, 0, {}
        fixed = {"kind": "judge-dpo", **_settings(plan, datasets)}
        for dataset in datasets:
            questions, left_out = _read_questions(dataset, plan)
            repeated += left_out
            experiment = Experiment(
                changes=plan.changes,
                corpus=dataset.corpus,
                llm=plan.llm,
                model=plan.model,
                prompts=plan.prompts,
                seed=plan.seed,
            )
            setup = Setup(plan.pipeline, experiment, dataset.questions)
            sampling = _Sampling(setup, plan, dataset, questions, small, gold, concurrency)
            with setup.environment():
                models = sampling.build()
            config = {**fixed, "models": models}
            folder.check(config)
            folder.open(config)

            done_runs = _read_done(output / STEPS, dataset.name)
            pending = [question for question in questions if question.id not in done_runs]
            if pending:
                _run_all(runner, sampling, pending, output / STEPS, on_progress)
                done_runs = _read_done(output / STEPS, dataset.name)
            # An earlier call may have run questions that are not among these.
            ids = {question.id for question in questions}
            failed += len(ids - done_runs.keys())
            runs += [run for question_id, run in done_runs.items() if question_id in ids]

        collected = _collect_pairs(runs, plan, failed, repeated)
        replace_file(output / PAIRS, (pair.to_record(models, plan.seed) for pair in collected.balanced))
        replace_file(output / HELD_OUT, (describe(step, models, plan.seed) for step in collected.held_out))
        report = {**write_report(collected, plan.most_true, plan.most_false), "models": models, "seed": plan.seed}
        replace_file(output / REPORT, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    return report


class RunRecord(TypedDict):
    """The record of one run: its question and its judged steps."""

    dataset: str
    id: str
    question: str
    # The number of documents per retrieval.
    top_k: int
    # The judged steps, as :meth:`prefrag.training.judge_dpo.candidates.JudgedStep.to_dict` writes them.
    steps: list[Mapping[str, object]]


@dataclass
class _Sampling:
    """Runs questions and records their judged steps. Each worker builds its own pipeline."""

    setup: Setup
    plan: Plan
    dataset: Dataset
    questions: Sequence[Question]
    small: ChatGenerator | None
    gold: ChatGenerator | Callable[[], ChatGenerator] | None
    concurrency: int
    pipeline: Any = None

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "pipeline": None}

    @contextmanager
    def __call__(self) -> Iterator[Callable[[Question], Awaitable[RunRecord | str]]]:
        with self.setup.environment():
            if self.pipeline is None:
                self.build()
            yield self.run

    def build(self) -> dict[str, str]:
        """Build the pipeline. Return the name of the model that is sampled, and that of the source of gold verdicts."""
        self.pipeline = self.setup.build()
        # The model writes each query, as in the paper. Without this, the first search would be for the question itself,
        # which has nothing to judge.
        self.pipeline.get_component("start").first_query = "model"
        judge, labels = _install_sampling_judge(
            self.pipeline, self.plan, self.dataset, self.questions, self.small, self.gold, self.concurrency
        )
        return {"small": _name(judge.chat_generator), "gold": labels}

    async def run(self, question: Question) -> RunRecord | str:
        """Run a question. Return the record of the run, or the reason why it failed."""
        options: dict[str, object] = {} if question.answer_type == "short" else {"answer_type": question.answer_type}
        top_k: int = self.pipeline.get_component("start").top_k
        if self.plan.top_k is not None:
            options["top_k"] = top_k = draw(self.plan.seed, question.id, "top_k").randint(*self.plan.top_k)
        try:
            result = await ask_async(self.pipeline, question.question, deadline=self.plan.deadline, **options)
        except (RunFailed, ValueError) as error:
            return str(error)
        steps = [event["judged"] for event in result["trace"] if event["kind"] == EVENT]
        return {
            "dataset": self.dataset.name,
            "id": question.id,
            "question": question.question,
            "top_k": top_k,
            "steps": steps,
        }


def _run_all(
    runner: Runner, sampling: _Sampling, pending: Sequence[Question], file: Path, report: Callable[[str], None]
) -> None:
    """Run the pending questions, and add the record of each run to a file.

    Raise ConnectionError if the first questions all fail.
    """
    name = sampling.dataset.name
    failed = 0
    failure: ConnectionError | None = None
    # The runner takes a question only when it begins to run it. So it begins none after the failure.
    results = runner.map(sampling, takewhile(lambda question: failure is None, pending))
    with closing(results):
        for ended, (question, run) in enumerate(results, start=1):
            if isinstance(run, str):
                # A failed run is not written, so a repeated command runs the question again.
                failed += 1
                report(f"{name}: question {question.id} failed: {run}")
            else:
                add_line(file, run)
                steps = len(run["steps"])
                report(f"{name}: {ended} of {len(pending)} questions run, the last with {steps} judged steps")
            have_all_failed = failed == ended
            if have_all_failed and ended == min(runner.room + _FURTHER_FAILED, len(pending)):
                advice = "repair what the last lines report, then run the same command again."
                failure = ConnectionError(f"The first {failed} questions all failed: {advice}")
    if failure is not None:
        raise failure


def _read_done(file: Path, dataset: str) -> dict[str, RunRecord]:
    """Read a dataset's finished runs, as a dict by question id. Remove an unfinished last line from the file."""
    done = {}
    for number, line in enumerate(read_lines(file), start=1):
        try:
            run = json.loads(line)
            if run["dataset"] == dataset:
                done[run["id"]] = run
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{file}, line {number}, is no record of a run ({error}): delete the line, and its question runs again."
            ) from error
    return done


def _read_questions(dataset: Dataset, plan: Plan) -> tuple[list[Question], int]:
    """Draw questions, each text only once. Return them, and how many questions were left out as repetitions."""
    if dataset.corpus is None:
        raise ValueError(
            f"{dataset.name} names an index: give QUESTIONS.jsonl:CORPUS.jsonl, so that the corpus can be split."
        )
    all_questions = [
        question for question in load_questions(dataset.questions) if question.supporting_ids or plan.labels == "model"
    ]
    if not all_questions:
        raise ValueError(f"{dataset.questions} has no questions with gold passages: use --labels model.")
    # The first question with each text.
    question_of_text: dict[str, Question] = {}
    for question in all_questions:
        question_of_text.setdefault(fold(question.question), question)
    questions = list(question_of_text.values())
    draw(plan.seed, dataset.name).shuffle(questions)
    return questions[: plan.limit], len(all_questions) - len(questions)


def _install_sampling_judge(
    pipeline: PipelineBase,
    plan: Plan,
    dataset: Dataset,
    questions: Sequence[Question],
    small: ChatGenerator | None,
    gold: ChatGenerator | Callable[[], ChatGenerator] | None,
    concurrency: int,
) -> tuple[ModelJudge, str]:
    """Put a `SamplingJudge` into a pipeline. Return the judge that it samples from, and the source of gold verdicts."""
    needed = {key for question in questions for key in question.supporting_ids}
    gold_passages = {passage.id: passage for passage in read_passages(dataset.corpus) if passage.id in needed}  # type: ignore[arg-type]
    absent = needed - gold_passages.keys() if plan.labels == "gold" else set()
    if absent:
        raise ValueError(
            f"{dataset.corpus} lacks {len(absent)} gold passages of {dataset.questions}: give the questions' corpus."
        )
    passages = GoldPassages(questions, gold_passages)
    gold = gold() if callable(gold) else gold
    model_judge = None
    for _, part in pipeline.walk():
        if not isinstance(part, SourceSwitchJudge):
            continue
        own = part.judge if isinstance(part.judge, ModelJudge) else getattr(part.judge, "model_judge", None)
        if not isinstance(own, ModelJudge):
            raise ValueError(f"The judge of the pipeline '{plan.pipeline}' calls no model: choose prefrag or mspr.")
        model = small or (ChatModel("judge") if plan.llm == SIMULATED else own.chat_generator)
        model_judge = ModelJudge(model, own.prompt, own.generation_kwargs)
        labels: Labels = passages
        if plan.labels == "model":
            stronger = {"temperature": 0.1, "top_p": 0.9, "max_tokens": 1_024}
            judge = ModelJudge(gold, own.prompt, stronger)  # type: ignore[arg-type]
            judge.warm_up()
            labels = GoldModel(judge)
        # The model also learns to judge passages that were all shown before. In the product, no judge is asked then.
        part.judge_repeated = True
        part.judge = SamplingJudge(
            model_judge, labels, passages, plan.seed, concurrency, goes_on_with=plan.trajectory, bound=plan.schema
        )
        part.judge.warm_up()
    if model_judge is None:
        raise ValueError(f"The pipeline '{plan.pipeline}' has no judge: choose prefrag or mspr.")
    return model_judge, "gold passages" if plan.labels == "gold" else _name(gold)


def _collect_pairs(runs: Iterable[RunRecord], plan: Plan, failed: int, repeated: int) -> Collected:
    """Make pairs from the records of the runs, balance the pairs, and hold some steps out.

    ``failed`` is the number of failed questions. ``repeated`` is the number of questions that were left out because
    another question has the same text.
    """
    runs = list(runs)
    sampled = []
    for run in runs:
        for step_record in run["steps"]:
            judged = JudgedStep.from_dict(step_record)
            sampled.append(SampledStep(run["dataset"], run["id"], run["question"], run["top_k"], judged))
    # Runs end in a different order each time. After sorting, the same runs give the same file.
    sampled.sort(key=lambda step: (step.dataset, step.question_id, step.judged.step))
    steps = drop_repeated(sampled)
    held_back = [step for step in steps if _is_held_out(step, plan)]

    pairs = []
    dropped: Counter[str] = Counter()
    for step in steps:
        if _is_held_out(step, plan):
            continue
        made = make_pair(step, plan.canonical)
        if isinstance(made, Pair):
            pairs.append(made)
        else:
            dropped[made] += 1

    balanced = balance(pairs, plan.most_true, plan.most_false, plan.seed)
    held_out = balance_held_out(held_back, plan.held_out_steps, plan.seed)
    return Collected(
        questions=len(runs) + failed,
        failed=failed,
        repeated_questions=repeated,
        steps=steps,
        repeated_steps=len(sampled) - len(steps),
        dropped=dropped,
        pairs=pairs,
        balanced=balanced,
        held_out=held_out,
    )


def _is_held_out(sampled: SampledStep, plan: Plan) -> bool:
    """Check whether a step is held out to measure the model. The text of its question decides."""
    return draw(plan.seed, "held out", fold(sampled.question)).random() < plan.held_out


def _settings(plan: Plan, datasets: Sequence[Dataset]) -> dict[str, object]:
    """Return the settings that decide what is sampled. They must stay the same when a collection continues."""
    top_k = None if plan.top_k is None else list(plan.top_k)
    digests = {dataset.name: dataset.digest() for dataset in datasets}
    return {
        "pipeline": plan.pipeline,
        "labels": plan.labels,
        "prompts": plan.prompts,
        "prompts_sha256": digest_prompts(plan.prompts),
        "changes": list(plan.changes),
        "trajectory": plan.trajectory,
        "schema": plan.schema,
        "top_k": top_k,
        "limit": plan.limit,
        "seed": plan.seed,
        "datasets": digests,
    }


def _name(generator: object) -> str:
    """Return the name of a model, for the report."""
    if isinstance(generator, ChatModel):
        server = generator.server
        if server is not None:
            return server.model
        return Path(models["judge" if generator.is_named_for_judging else "llm"].gguf).name
    named = getattr(generator, "model", None) or getattr(generator, "model_path", None)
    return str(named) if named else type(generator).__name__
