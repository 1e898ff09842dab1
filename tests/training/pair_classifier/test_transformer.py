"""From questions and a corpus to a transformer that scores pairs: a tiny BigBird with random weights."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from typer.testing import CliRunner

from prefrag.cli.main import train
from prefrag.components.pair_classifier.transformer_pair_scorer import TransformerPairScorer
from prefrag.errors import Missing
from prefrag.training.dataset import Dataset
from tests.training.towns import write_dataset

torch = pytest.importorskip("torch", reason="training needs PyTorch (the extra `train`)")
pytest.importorskip("transformers", reason="training needs transformers (the extra `train`)")
pytest.importorskip("onnx", reason="the export needs onnx (the extra `train`)")

from prefrag.training.pair_classifier.transformer import TransformerSettings, TransformerTraining, train_transformer  # noqa: E402

pytestmark = pytest.mark.slow

WORDS = [a + b + c for a in "bdfgkl" for b in "aeiou" for c in "mnrst"]
QUESTIONS = 40


def dataset(folder: Path, words: int) -> Dataset:
    """Questions with two gold passages each, between passages that share their words."""
    draw = random.Random(3)
    questions, passages = [], []
    for number in range(QUESTIONS):
        name = f"{WORDS[number]}{WORDS[number + 1]}"
        for part in ("one", "two", "three", "four"):
            text = f"{name} {part} " + " ".join(draw.choices(WORDS, k=words))
            passages.append({"id": f"{name}-{part}", "title": f"{name} {part}", "text": text})
        gold = [f"{name}-one", f"{name}-two"]
        questions.append({"id": name, "question": f"What of {name}?", "answers": ["x"], "supporting_ids": gold})
    return write_dataset(folder, questions, passages)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BigBird as it comes from the hub: with sparse attention, and nothing learnt."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BigBirdConfig, BigBirdModel, PreTrainedTokenizerFast

    path = tmp_path_factory.mktemp("base")
    names = [f"{first}{second}" for first, second in pairwise(WORDS)]
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, *names])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(path)
    torch.manual_seed(7)
    config = BigBirdConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=1024,
        pad_token_id=0,
        initializer_range=0.2,
    )
    BigBirdModel(config).save_pretrained(path)
    return path


def settings(base: Path, **changes: Any) -> TransformerSettings:
    """Eight pairs, six of them seen, two a step."""
    return TransformerSettings(
        **{
            "base": str(base),
            "negatives": "hard",
            "most": 8,
            "epochs": 0.75,
            "rate": 1e-3,
            "batch_tokens": 2000,
            **changes,
        }
    )


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return dataset(tmp_path_factory.mktemp("data") / "long", words=400)


@pytest.fixture(scope="module")
def trained(
    base: Path, long: Dataset, tmp_path_factory: pytest.TempPathFactory
) -> tuple[TransformerTraining, list[str]]:
    lines: list[str] = []
    output = tmp_path_factory.mktemp("trained") / "pairs"
    return train_transformer([long], output, settings(base), lines.append), lines


PAIR = (
    Document(content="bambam one " + "dan " * 390, meta={"title": "bambam"}),
    Document(content="bambam two " + "fer " * 390),
)
QUESTION = "What of bambam?"


def test_pairs_of_over_704_tokens_are_learnt_and_scored(trained: tuple[TransformerTraining, list[str]]):
    result, lines = trained
    card = json.loads((result.output / "card.json").read_text(encoding="utf-8"))

    [score] = TransformerPairScorer(str(result.output), device="cpu").score(QUESTION, [PAIR])

    assert 0 < score < 1
    assert (card["steps"], card["attention"]) == (3, "block_sparse")
    assert card["counts"]["long/questions"] == {"both": 4, "one": 2, "none": 2}
    assert card["held_back"]["prior"] == 0.5
    assert any("silently replace its sparse attention by full attention" in line for line in lines)
    assert (result.output / "model.safetensors").stat().st_size > 1000


def test_a_short_pair_does_not_change_the_attention_of_the_next(trained: tuple[TransformerTraining, list[str]]):
    short = Document(content="bambam one"), Document(content="bambam two")
    scorer = TransformerPairScorer(str(trained[0].output), device="cpu")
    before = scorer.score(QUESTION, [PAIR])

    scorer.score(QUESTION, [short])

    assert scorer.score(QUESTION, [PAIR]) == pytest.approx(before, abs=1e-6)


def test_a_training_that_is_done_is_not_done_again(
    trained: tuple[TransformerTraining, list[str]], base: Path, long: Dataset
):
    before = TransformerPairScorer(str(trained[0].output), device="cpu").score(QUESTION, [PAIR])
    lines: list[str] = []

    again = train_transformer([long], trained[0].output, settings(base), lines.append)

    assert not [line for line in lines if line.startswith("Retrieving")]
    assert again.threshold == pytest.approx(trained[0].threshold, abs=1e-6)
    assert TransformerPairScorer(str(again.output), device="cpu").score(QUESTION, [PAIR]) == pytest.approx(before)


def test_other_settings_do_not_go_on_with_it(trained: tuple[TransformerTraining, list[str]], base: Path, long: Dataset):
    with pytest.raises(ValueError, match="holds a training with another rate"):
        train_transformer([long], trained[0].output, settings(base, rate=1e-4))


def test_an_unloadable_base_is_named_before_anything_is_written(long: Dataset, tmp_path: Path):
    with pytest.raises(Missing, match="The base '.*nothing' cannot be loaded"):
        train_transformer([long], tmp_path / "made", settings(tmp_path / "nothing"))

    assert not (tmp_path / "made").exists()


def test_other_files_of_the_same_names_do_not_go_on_with_it(
    trained: tuple[TransformerTraining, list[str]], base: Path, tmp_path: Path
):
    with pytest.raises(ValueError, match="holds a training with another datasets"):
        train_transformer([dataset(tmp_path / "long", words=399)], trained[0].output, settings(base))


def test_short_pairs_get_full_attention_and_a_line_says_so(base: Path, tmp_path: Path):
    lines: list[str] = []

    result = train_transformer(
        [dataset(tmp_path / "short", words=20)], tmp_path / "pairs", settings(base), lines.append
    )

    assert any("full attention is used in training" in line for line in lines)
    [first], [second] = (
        TransformerPairScorer(str(result.output), backend, device="cpu").score(QUESTION, [PAIR])  # type: ignore[arg-type]
        for backend in ("torch", "onnx")
    )
    assert first == pytest.approx(second, abs=1e-4)
    assert json.loads((result.output / "card.json").read_text())["onnx_difference"] < 1e-4


def test_the_command_trains_a_transformer(base: Path, tmp_path: Path):
    data = dataset(tmp_path / "data", words=20)
    arguments = ["pairs", "--engine", "transformer", "--dataset", f"{data.questions}:{data.corpus}"]
    arguments += ["--output", str(tmp_path / "pairs"), "--base", str(base), "--set", "most=8", "--set", "epochs=1"]

    called = CliRunner().invoke(train, arguments, terminal_width=200)

    assert called.exit_code == 0, called.output
    assert "data/questions: 4 pairs of two needed documents, 2 with one, 2 without" in called.output
    assert "`threshold`" in called.output
