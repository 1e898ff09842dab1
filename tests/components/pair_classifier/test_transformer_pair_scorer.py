from __future__ import annotations

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from haystack import Document

from prefrag.components.pair_classifier import transformer_pair_scorer
from prefrag.components.pair_classifier.pair_classifier import PairClassifier
from prefrag.components.pair_classifier.transformer_pair_scorer import (
    ClassifierMissing,
    TransformerPairScorer,
    encode_pairs,
)
from tests.for_each import for_each

QUESTION = "who married the child of heiberg"
WORDS = [*QUESTION.split(), "johan", "was", "a", "poet", "actress", "son", "his", "long"]
VOCABULARY = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
NINE = [
    (Document(content=first, meta={"title": "heiberg"}), Document(content=second))
    for first in ("his son johan was a poet", "the son", "a poet")
    for second in ("johan married the actress", "long " * 400, "who was a poet")
]


def tokenizer() -> Any:
    """A tokenizer of whole words, with BERT's layout."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, VOCABULARY[name]) for name in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        model_max_length=256,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT with random weights that classifies pairs, saved as a trained one would be."""
    torch = pytest.importorskip("torch", reason="PyTorch comes with the extra `classifier`")
    transformers = pytest.importorskip("transformers", reason="transformers comes with the extra `classifier`")
    path = tmp_path_factory.mktemp("pairs")
    tokenizer().save_pretrained(path)
    torch.manual_seed(7)
    config = transformers.BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=256,
        initializer_range=0.2,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def exported(folder: Path) -> Path:
    """The same model as ONNX, in its folder."""
    pytest.importorskip("onnxruntime", reason="ONNX Runtime comes with the extra `classifier`")
    pytest.importorskip("onnx", reason="exporting needs onnx")
    from prefrag.training.pair_classifier.export import export_onnx

    export_onnx(folder, folder / "model.onnx")
    return folder


def tokens(folder: Path, question: str, first: str, second: str, **limits: int) -> list[str]:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    encoded = encode_pairs(tokenizer, [question], [(first, second)], **limits)
    return tokenizer.convert_ids_to_tokens(encoded["input_ids"][0].tolist())


def test_scores_are_from_0_to_1_in_any_batch_and_thread(folder: Path, monkeypatch: pytest.MonkeyPatch):
    scorer = TransformerPairScorer(str(folder))
    scores = scorer.score(QUESTION, NINE)

    assert len(scores) == 9
    assert all(isinstance(score, float) and 0 <= score <= 1 for score in scores)
    assert len({round(score, 5) for score in scores}) == 9
    with ThreadPoolExecutor(4) as pool:
        for again in pool.map(lambda _: scorer.score(QUESTION, NINE), range(16)):
            assert again == pytest.approx(scores, abs=1e-5)
    monkeypatch.setenv("PREFRAG_PAIR_CLASSIFIER", str(folder))
    assert TransformerPairScorer().score(QUESTION, NINE) == scores
    monkeypatch.setattr(transformer_pair_scorer, "_BATCH", 2)
    assert TransformerPairScorer(str(folder)).score(QUESTION, NINE) == pytest.approx(scores, abs=1e-4)


def test_the_model_reads_question_and_documents_each_cut(folder: Path):
    whole = tokens(folder, "who was johan", "his son", "a poet")
    cut = tokens(folder, "who " * 500, "johan " * 500, "poet " * 500, document_tokens=5)

    assert whole == ["[CLS]", "who", "was", "johan", "[SEP]", "his", "son", "[SEP]", "a", "poet", "[SEP]"]
    assert cut == ["[CLS]", *["who"] * 60, "[SEP]", *["johan"] * 5, "[SEP]", *["poet"] * 5, "[SEP]"]


@for_each(
    "sons, poets, counts",
    pytest.param(120, 100, (120, 100), id="whole where the model has room"),
    pytest.param(400, 20, (228, 20), id="of two that do not fit the longer is cut"),
    pytest.param(400, 400, (124, 124), id="or both alike"),
)
def test_documents_share_the_room_of_the_model(folder: Path, sons: int, poets: int, counts: tuple[int, int]):
    ids = tokens(folder, "who was johan", "son " * sons, "poet " * poets)

    assert (ids.count("son"), ids.count("poet")) == counts
    assert len(ids) == 1 + 3 + 1 + counts[0] + 1 + counts[1] + 1 <= 256


def test_what_stands_behind_the_cap_does_not_count(folder: Path):
    scorer = TransformerPairScorer(str(folder), document_tokens=4)
    cut = [(Document(content="the son of heiberg"), Document(content="johan married the actress"))]
    long = [(Document(content="the son of heiberg was a poet"), Document(content="johan married the actress who was"))]

    assert scorer.score(QUESTION, long) == pytest.approx(scorer.score(QUESTION, cut))


def test_a_model_with_one_output_is_read_as_the_odds_of_the_pair(folder: Path, tmp_path: Path):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1, ignore_mismatched_sizes=True)
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.fill_(2.0)
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)

    assert TransformerPairScorer(str(tmp_path)).score(QUESTION, NINE[:1]) == pytest.approx([0.880797])


def test_an_exported_model_scores_the_same(exported: Path):
    torch_scores = TransformerPairScorer(str(exported)).score(QUESTION, NINE)

    for count in (1, 9):
        scorer = TransformerPairScorer(str(exported), backend="onnx", device="cpu")
        assert scorer.score(QUESTION, NINE[:count]) == pytest.approx(torch_scores[:count], abs=1e-3)


def test_selects_documents(folder: Path):
    first, second = NINE[0]
    score = TransformerPairScorer(str(folder)).score(QUESTION, [(first, second)])[0]

    def selected(threshold: float) -> list[Document]:
        classifier = PairClassifier(TransformerPairScorer(str(folder)), threshold=threshold)
        return classifier.run(QUESTION, [first], [[second]])["documents"]

    assert selected(score - 0.001) == [first, second]
    assert selected(score + 0.001) == [first]


def test_a_model_that_was_never_trained_to_classify_is_refused(folder: Path, tmp_path: Path):
    from transformers import AutoModel, AutoTokenizer

    AutoModel.from_pretrained(folder).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)

    with pytest.raises(ClassifierMissing, match=r"not trained to classify pairs.*classifier\.weight.*dr_rag_qdc"):
        TransformerPairScorer(str(tmp_path)).warm_up()


def test_a_missing_folder_and_an_unfit_model_are_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ClassifierMissing, match=r"'.*missing' cannot be loaded.*dr_rag_qdc"):
        TransformerPairScorer(str(tmp_path / "missing")).warm_up()
    with pytest.raises(ValueError, match=r"reads 256 tokens, but the settings need 264: lower document_tokens"):
        TransformerPairScorer(str(folder), document_tokens=100).warm_up()
    pytest.importorskip("onnxruntime", reason="ONNX Runtime comes with the extra `classifier`")
    plain = shutil.copytree(folder, tmp_path / "plain", ignore=shutil.ignore_patterns("*.onnx"))
    with pytest.raises(ClassifierMissing, match=r"There is no .*model\.onnx"):
        TransformerPairScorer(str(plain), backend="onnx").warm_up()


def test_a_missing_model_or_package_is_told_with_advice(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ClassifierMissing, match=r"PREFRAG_PAIR_CLASSIFIER.*dr_rag_qdc"):
        TransformerPairScorer().warm_up()
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ClassifierMissing, match=r"'transformers'.*prefrag\[classifier\].*dr_rag_qdc"):
        TransformerPairScorer("models/pairs").warm_up()
    assert TransformerPairScorer("nowhere").score(QUESTION, []) == []
