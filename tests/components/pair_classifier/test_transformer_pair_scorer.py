from __future__ import annotations

import json
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

WORDS = [
    "who",
    "married",
    "the",
    "child",
    "of",
    "heiberg",
    "johan",
    "was",
    "a",
    "poet",
    "actress",
    "son",
    "his",
    "long",
]
VOCABULARY = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
QUESTION = "who married the child of heiberg"
NINE = [
    (Document(content=first, meta={"title": "heiberg"}), Document(content=second))
    for first in ("his son johan was a poet", "the son", "a poet")
    for second in ("johan married the actress", "long " * 400, "who was a poet")
]


def tokenizer() -> Any:
    """A tokenizer of whole words that lays texts out as BERT's does."""
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


def test_scores_every_pair_between_0_and_1(folder: Path):
    scores = TransformerPairScorer(str(folder)).score(QUESTION, NINE)

    assert len(scores) == 9
    assert all(isinstance(score, float) and 0 <= score <= 1 for score in scores)
    assert len({round(score, 5) for score in scores}) == 9


def test_the_model_reads_the_question_and_both_documents(folder: Path):
    assert tokens(folder, "who was johan", "his son", "a poet") == (
        ["[CLS]", "who", "was", "johan", "[SEP]", "his", "son", "[SEP]", "a", "poet", "[SEP]"]
    )


def test_long_texts_are_cut_each_by_itself(folder: Path):
    found = tokens(folder, "who " * 500, "johan " * 500, "poet " * 500, question_tokens=3, document_tokens=5)

    assert found == ["[CLS]", *["who"] * 3, "[SEP]", *["johan"] * 5, "[SEP]", *["poet"] * 5, "[SEP]"]


def test_what_stands_behind_the_cap_does_not_count(folder: Path):
    scorer = TransformerPairScorer(str(folder), document_tokens=4)
    cut = [(Document(content="the son of heiberg"), Document(content="johan married the actress"))]
    long = [(Document(content="the son of heiberg was a poet"), Document(content="johan married the actress who was"))]

    assert scorer.score(QUESTION, long) == pytest.approx(scorer.score(QUESTION, cut))


def test_batches_of_any_size_give_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch):
    whole = TransformerPairScorer(str(folder)).score(QUESTION, NINE)
    monkeypatch.setattr(transformer_pair_scorer, "_BATCH", 2)

    assert TransformerPairScorer(str(folder)).score(QUESTION, NINE) == pytest.approx(whole, abs=1e-4)


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


def test_threads_share_a_scorer(folder: Path):
    scorer = TransformerPairScorer(str(folder))
    expected = scorer.score(QUESTION, NINE)

    with ThreadPoolExecutor(4) as pool:
        for scores in pool.map(lambda _: scorer.score(QUESTION, NINE), range(16)):
            assert scores == pytest.approx(expected, abs=1e-5)


def test_selects_documents(folder: Path):
    first, second = NINE[0]
    score = TransformerPairScorer(str(folder)).score(QUESTION, [(first, second)])[0]

    def selected(threshold: float) -> list[Document]:
        classifier = PairClassifier(TransformerPairScorer(str(folder)), threshold=threshold)
        return classifier.run(QUESTION, [first], [[second]])["documents"]

    assert selected(score - 0.001) == [first, second]
    assert selected(score + 0.001) == [first]


def test_no_pairs_need_no_model():
    assert TransformerPairScorer("nowhere").score(QUESTION, []) == []


def test_a_model_that_was_never_trained_to_classify_is_refused(folder: Path, tmp_path: Path):
    from transformers import AutoModel, AutoTokenizer

    AutoModel.from_pretrained(folder).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)

    with pytest.raises(ClassifierMissing, match=r"not trained to classify pairs.*classifier\.weight.*dr_rag_qdc"):
        TransformerPairScorer(str(tmp_path)).warm_up()


def test_more_tokens_than_the_model_reads_are_refused(folder: Path):
    with pytest.raises(ValueError, match=r"reads 256 tokens, and 264 are set: lower document_tokens"):
        TransformerPairScorer(str(folder), document_tokens=100).warm_up()


def test_a_folder_that_is_not_there_is_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    with pytest.raises(ClassifierMissing, match=r"'.*missing' cannot be loaded.*dr_rag_qdc"):
        TransformerPairScorer(str(tmp_path / "missing")).warm_up()


def test_a_model_that_was_not_exported_is_named(folder: Path):
    pytest.importorskip("onnxruntime", reason="ONNX Runtime comes with the extra `classifier`")

    with pytest.raises(ClassifierMissing, match=r"There is no .*other\.onnx"):
        TransformerPairScorer(str(folder), backend="onnx", onnx_file="other.onnx").warm_up()


def test_the_environment_names_the_model(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_PAIR_CLASSIFIER", str(folder))

    assert TransformerPairScorer().score(QUESTION, NINE) == TransformerPairScorer(str(folder)).score(QUESTION, NINE)


def test_without_a_model_the_message_states_what_to_do():
    with pytest.raises(ClassifierMissing, match=r"PREFRAG_PAIR_CLASSIFIER.*dr_rag_qdc"):
        TransformerPairScorer().warm_up()


def test_without_the_package_the_message_names_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "transformers", None)

    with pytest.raises(ClassifierMissing, match=r"'transformers'.*EXTRAS=classifier.*dr_rag_qdc"):
        TransformerPairScorer("models/pairs").warm_up()


@pytest.mark.parametrize("settings", [{"backend": "tensorflow"}, {"question_tokens": 0}, {"document_tokens": 0}])
def test_settings_that_make_no_sense_are_named(settings: dict[str, Any]):
    with pytest.raises(ValueError, match=next(iter(settings))):
        TransformerPairScorer("models/pairs", **settings)


def test_serialises():
    data = TransformerPairScorer("models/pairs", backend="onnx", device="cpu", document_tokens=500).to_dict()
    assert json.loads(json.dumps(data)) == data
    assert TransformerPairScorer.from_dict(data).to_dict() == data


def test_documents_are_read_whole_where_the_model_has_room(folder: Path):
    found = tokens(folder, "who was johan", "his son " * 60, "a poet " * 50)

    assert len(found) == 1 + 3 + 1 + 120 + 1 + 100 + 1


def test_of_two_documents_that_do_not_fit_the_longer_is_cut(folder: Path):
    found = tokens(folder, "who was johan", "son " * 400, "poet " * 20)

    assert (len(found), found.count("poet")) == (256, 20)
    both = tokens(folder, "who was johan", "son " * 400, "poet " * 400)
    assert both.count("son") == both.count("poet") == 124
