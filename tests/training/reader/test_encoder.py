"""A phase of the encoder's training: how much it reads, and that the encoder learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="training needs PyTorch (the extra `train`)")
pytest.importorskip("transformers", reason="training needs transformers (the extra `train`)")

from prefrag.errors import BadInput  # noqa: E402
from prefrag.training.phase import Phase  # noqa: E402
from prefrag.training.reader.encoder import (  # noqa: E402
    ReaderEncoder,
    check_weights,
    is_faster_in_bfloat16,
    mean_of,
    pretrained,
    train_encoder,
)
from prefrag.training.reader.examples import Example  # noqa: E402
from prefrag.training.reader.export import export_encoder, import_encoder  # noqa: E402

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "built", "the", "mill", "ann", "bea", "low", "did"]


@pytest.fixture
def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers

    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


@pytest.fixture
def encoder() -> ReaderEncoder:
    from transformers import BertConfig

    torch.manual_seed(1)
    return ReaderEncoder(
        BertConfig(
            vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
        )
    )


def with_separators(tokenizer: Any, first: str, last: str, folder: Path) -> Path:
    """Write a tokenizer that puts two tokens around a text."""
    from tokenizers.processors import TemplateProcessing

    tokens = [(token, tokenizer.token_to_id(token)) for token in (first, last)]
    tokenizer.post_processor = TemplateProcessing(single=f"{first} $A {last}", special_tokens=tokens)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


class TestOfABase:
    def test_all_weights_of_a_bert_encoder_are_read(self, encoder, tokenizer, tmp_path):
        encoder.encoder.save_pretrained(tmp_path)

        read = pretrained(with_separators(tokenizer, "[CLS]", "[SEP]", tmp_path), 7)

        before, after = encoder.encoder.state_dict(), read.encoder.state_dict()
        assert all(torch.equal(before[name], after[name]) for name in before)

    def test_another_kind_of_encoder_is_refused_with_what_it_lacks(self, tokenizer, tmp_path):
        from transformers import MPNetConfig, MPNetModel

        MPNetModel(
            MPNetConfig(
                vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
            )
        ).save_pretrained(tmp_path)

        with pytest.raises(BadInput, match=r"lacks 'embeddings.token_type_embeddings.weight' .11 weights in all"):
            pretrained(with_separators(tokenizer, "[CLS]", "[SEP]", tmp_path), 7)

    def test_other_separators_than_those_of_bert_are_refused(self, encoder, tokenizer, tmp_path):
        encoder.encoder.save_pretrained(tmp_path)

        with pytest.raises(BadInput, match=r"\[CLS\] and \[SEP\]"):
            pretrained(with_separators(tokenizer, "[PAD]", "[UNK]", tmp_path), 7)

    def test_weights_of_heads_and_positions_may_be_left(self, tmp_path):
        check_weights(tmp_path, [], ["pooler.dense.weight", "cls.predictions.bias", "embeddings.position_ids"])

        with pytest.raises(BadInput, match=r"encoder\.relative_attention_bias"):
            check_weights(tmp_path, [], ["encoder.relative_attention_bias.weight"])


def test_the_processor_is_tried_once_for_bfloat16():
    assert is_faster_in_bfloat16() is is_faster_in_bfloat16()
    assert is_faster_in_bfloat16.cache_info().misses == 1


EXAMPLES = [
    Example(str(n), "who built the mill", (("", "ann did"),), ("ann",), (0,), "span", "made up") for n in range(9)
]


def train(encoder: ReaderEncoder, tokenizer: Any, file: Path, epochs: float) -> int:
    phase = Phase("tiny", epochs, 1e-2, minutes=1, batch_tokens=1, warm_up=1)
    return train_encoder(encoder, tokenizer, EXAMPLES, 64, phase, 7, file, on_progress=lambda line: None)


@pytest.mark.parametrize(("epochs", "steps"), [(1.0, 9), (1.6, 14), (2.5, 22)])
def test_each_example_is_seen_as_often_as_set(encoder, tokenizer, tmp_path, epochs, steps):
    assert train(encoder, tokenizer, tmp_path / "tiny.pt", epochs) == steps


def test_it_learns_where_the_answer_is(encoder, tokenizer, tmp_path):
    train(encoder, tokenizer, tmp_path / "tiny.pt", 12)

    # [CLS] who built the mill [SEP] ann did [SEP]
    ids = torch.tensor([[2, 4, 5, 6, 7, 3, 8, 11, 3]])
    start, end, kind = encoder(ids, torch.ones_like(ids), torch.tensor([[0] * 6 + [1] * 3]))
    assert int(start[0, 6:].argmax()) == int(end[0, 6:].argmax()) == 0
    assert int(kind.argmax()) == 0


def test_a_phase_that_is_done_is_not_done_again(encoder, tokenizer, tmp_path):
    train(encoder, tokenizer, tmp_path / "tiny.pt", 2)
    again = mean_of([encoder])
    with torch.no_grad():
        for value in again.parameters():
            value.zero_()

    assert train(again, tokenizer, tmp_path / "tiny.pt", 2) == 18
    assert torch.equal(again.span.weight, encoder.span.weight)


def test_the_mean_of_encoders_has_the_mean_of_their_weights(encoder):
    other = mean_of([encoder])
    with torch.no_grad():
        other.span.bias += 2

    assert torch.allclose(mean_of([encoder, other]).span.bias, encoder.span.bias + 1)


def test_an_exported_encoder_is_imported_with_exact_heads(encoder, tmp_path):
    for value in encoder.parameters():
        # The weights differ as after a training, because equal weights would be written once.
        torch.nn.init.normal_(value, std=0.02)
    file = tmp_path / "encoder.onnx"
    export_encoder(encoder, file)
    again = mean_of([encoder])
    for value in again.state_dict().values():
        value.zero_()

    import_encoder(again, file)

    pairs = {name: (value, again.state_dict()[name]) for name, value in encoder.state_dict().items()}
    assert all(torch.equal(*pairs[name]) for name in pairs if name.startswith(("span", "kind")) or "LayerNorm" in name)
    assert all(torch.allclose(weight, other, atol=1e-3) for weight, other in pairs.values())
