"""A tiny reader is trained from nothing on made-up questions; it takes all steps, but learns no skill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from haystack import Document

pytest.importorskip("torch", reason="training needs PyTorch (the extra `train`)")
pytest.importorskip("transformers", reason="training needs transformers (the extra `train`)")

from prefrag.components.reader.extractive_reader import ExtractiveReader
from prefrag.training.dataset import Dataset
from prefrag.training.reader.documents import read_documents
from prefrag.training.reader.training import train_reader
from tests.training.towns import write_lines

TOWNS = ("Oskerry", "Pellhaven", "Tolmouth", "Saltreach", "Lindgate")


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    passages, questions = [], []
    for number in range(32):
        book, writer, town = f"Book{number} Tales", f"Writer{number} Smith", TOWNS[number % 5]
        passages += [
            {
                "id": f"b{number}",
                "title": book,
                "text": f"{book} is a novel. It was written by {writer} in 19{10 + number}.",
            },
            {"id": f"w{number}", "title": writer, "text": f"{writer} was a poet of the north. She was born in {town}."},
        ]
        asked = {
            "id": f"q{number}",
            "supporting_ids": [f"b{number}", f"w{number}"],
            "candidate_ids": [f"b{number}", f"w{number}"],
        }
        if number % 4:
            asked |= {"question": f"Where was the writer of {book} born?", "answers": [town]}
            hops = (f"Who wrote {book}?", writer, f"b{number}"), ("Where was #1 born?", town, f"w{number}")
            asked["decomposition"] = [{"question": q, "answer": a, "supporting_id": p} for q, a, p in hops]
        else:
            asked |= {
                "question": f"Was the writer of {book} born in Oskerry?",
                "answers": ["yes" if number % 5 == 0 else "no"],
            }
        questions.append(asked)
    (tmp_path / "books").mkdir()
    return Dataset(
        write_lines(tmp_path / "books" / "train.jsonl", questions),
        write_lines(tmp_path / "books" / "corpus.jsonl", passages),
    )


@pytest.fixture
def reading(tmp_path: Path) -> Path:
    return write_lines(
        tmp_path / "reading.jsonl",
        [
            {
                "id": f"r{number}",
                "question": f"When was mill {number} built?",
                "title": f"Mill {number}",
                "text": f"Mill {number} was built in 18{10 + number} by a miller.",
                "answers": [f"18{10 + number}"],
            }
            for number in range(60)
        ],
    )


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    from transformers import BertConfig, BertModel

    folder = tmp_path / "tiny" / "model"
    folder.mkdir(parents=True)
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    texts = ["the writer of a novel was born in the town", "when was the mill built by a miller", *TOWNS]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=200, special_tokens=special))
    tokenizer.save(str(folder / "tokenizer.json"))
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_a_training_writes_a_reader_that_reads(dataset, reading, encoder, tmp_path):
    output = tmp_path / "reader"

    trained = train_reader([dataset], output, reading, encoder, minutes=0.2)

    reader = ExtractiveReader(str(output))
    reader.warm_up()
    document = Document(content="Ann Low was a poet. She was born in Tolmouth.", meta={"title": "Ann Low"})
    answers = reader.read("Where was Ann Low born?", [document])
    assert answers
    assert answers[0].document is document
    assert all(0 <= answer.probability <= 1 for answer in answers)
    assert set(trained.held_back) == {"books", "books-gone", "books-twin", "reading"}
    assert json.loads((output / "card.json").read_text())["seed"] == 7


@pytest.mark.slow
def test_a_training_continues_from_a_reader_with_documents(dataset, reading, encoder, tmp_path):
    first, output, lines = tmp_path / "first", tmp_path / "reader", []
    train_reader([dataset], first, None, encoder, minutes=0.1)
    records = [json.loads(line) for line in reading.read_text(encoding="utf-8").splitlines()]
    records += [
        {**record, "question": f"Who paid for mill {n}?", "answers": []} for n, record in enumerate(records[:20])
    ]
    documents = [
        read_documents(write_lines(tmp_path / "mills.jsonl", [{**record, "document": "0-1"} for record in records]))
    ]

    trained = train_reader([dataset], output, reading, encoder, documents, first, minutes=0.1, on_progress=lines.append)

    assert not any(line.startswith("reading") for line in lines)
    assert {"books", "reading", "mills", "mills-none"} <= set(trained.held_back)
    assert ExtractiveReader(str(output)).read("When was mill 3 built?", [Document(content="Mill 3 was built in 1813.")])


@pytest.mark.slow
def test_a_training_that_was_interrupted_goes_on(dataset, encoder, tmp_path):
    output, lines = tmp_path / "reader", []
    train_reader([dataset], output, None, encoder, minutes=0.1)
    (output / "training" / "half-1.pt").unlink()

    train_reader([dataset], output, None, encoder, minutes=0.1, on_progress=lines.append)

    assert not any(line.startswith(("half 0", "Retrieving")) for line in lines)
    assert any(line.startswith("half 1") for line in lines)


@pytest.mark.slow
def test_the_trees_are_fitted_again_over_the_encoder_as_it_is(dataset, encoder, tmp_path):
    first, output = tmp_path / "first", tmp_path / "reader"
    train_reader([dataset], first, None, encoder, minutes=0.1)

    train_reader([dataset], output, None, encoder, start=first, minutes=0)

    assert (output / "encoder.onnx").read_bytes() == (first / "encoder.onnx").read_bytes()
    assert json.loads((output / "card.json").read_text())["steps"] == {}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"known": ["mills"]}, "no set mills"),
        ({"known": ["books/train"]}, "All sets are known"),
        ({"minutes": 0}, "no encoder is trained"),
        ({"start": "reader"}, "give another folder"),
    ],
)
def test_a_training_without_a_measure_of_certainty_is_refused(settings, says, dataset, encoder, tmp_path):
    if "start" in settings:
        settings = {"start": tmp_path / settings["start"]}
    with pytest.raises(ValueError, match=says):
        train_reader([dataset], tmp_path / "reader", None, encoder, **settings)
