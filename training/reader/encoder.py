"""The encoder of the extractive reader, and its training."""

import random
import re
import timeit
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel
from transformers.utils import logging

from prefrag.components.reader.reader_input import LONGEST, SEPARATORS, encode, load_tokenizer
from prefrag.errors import BadInput
from prefrag.training.phase import Phase, train_phase
from prefrag.training.reader.examples import Example, find_answers

# The kinds of answers, in the order of the scores of the encoder's second head.
KINDS = ("span", "yes", "no", "none")
# Weights that a folder may have besides those of the encoder: heads of its pretraining, such as
# "bert.pooler.dense.weight" and "cls.predictions.bias", and "embeddings.position_ids", which the encoder computes.
_HEAD = re.compile(r"^(?:bert\.)?(?:pooler|cls|classifier|qa_outputs)\.|position_ids$")
_PROBED = (512, 512)  # the shape of the matrices that `is_faster_in_bfloat16` multiplies
_MASKED = -1e4  # the score of a token outside of the passages, where no answer can be


class ReaderEncoder(nn.Module):
    """A BERT encoder with a head for the starts and ends of spans, and a head for the kind of answer."""

    def __init__(self, config: BertConfig):
        super().__init__()
        # There is no dropout: an example is seen only once or twice, and on a CPU, drawing the masks of the dropout
        # takes half of the time of a step.
        config.hidden_dropout_prob = 0.0
        config.attention_probs_dropout_prob = 0.0
        self.encoder = BertModel(config, add_pooling_layer=False)
        # On a CPU, the backward pass of fused attention is slow: with eager attention, a step takes a third less time.
        self.encoder.set_attn_implementation("eager")
        self.span = nn.Linear(config.hidden_size, 2)
        self.kind = nn.Linear(config.hidden_size, len(KINDS))
        for head in (self.span, self.kind):
            nn.init.normal_(head.weight, std=0.02)
            nn.init.zeros_(head.bias)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, position_ids: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the scores of each token as the start and as the end of the answer, and the scores of the kinds."""
        hidden = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids, position_ids=position_ids
        ).last_hidden_state
        scores = self.span(hidden)
        return scores[..., 0], scores[..., 1], self.kind(hidden[:, 0])


def check_weights(folder: Path, missing: Iterable[str], unexpected: Iterable[str]) -> None:
    """Check that all weights of an encoder were loaded: those that are missing would stay random.

    :param folder: The folder of the encoder.
    :param missing: The names of the weights that the encoder needs but the folder does not have.
    :param unexpected: The names of the weights that the folder has but the encoder does not need.
    :raises BadInput: When a weight is missing, or the folder has one that no BERT encoder has.
    """
    left = [name for name in unexpected if not _HEAD.search(name)]
    names = sorted(missing)
    what = "lacks"
    if not names:
        names = sorted(left)
        what = "has more weights than a BERT encoder:"
    if names:
        raise BadInput(
            f"{folder} {what} '{names[0]}' ({len(names)} weights in all), so it would be read wrongly: give the folder "
            "of a BERT encoder, such as MiniLM."
        )


def check_separators(folder: Path) -> None:
    """Check that a tokenizer separates texts by the same tokens as the reader's input (:data:`SEPARATORS`).

    :param folder: The folder with ``tokenizer.json``.
    :raises BadInput: When it separates them by other tokens.
    """
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    needed = [tokenizer.token_to_id(token) for token in SEPARATORS]
    # An empty text is encoded as the separators alone, or as nothing if the file does not say how to join texts.
    own = tokenizer.encode("").ids
    has_others = bool(own) and own != needed
    if None in needed or has_others:
        raise BadInput(
            f"The tokenizer of {folder} does not separate texts by {' and '.join(SEPARATORS)}: give the folder of a "
            "BERT encoder, such as MiniLM."
        )


@cache
def is_faster_in_bfloat16() -> bool:
    """Try whether this processor multiplies faster in bfloat16 than in float32. Some lack the instructions for it.

    :returns: Whether the fastest of eight products in bfloat16 took less time than the fastest of eight in float32.
    """
    seconds = {}
    for dtype in (torch.float32, torch.bfloat16):
        matrix = torch.ones(_PROBED, dtype=dtype)
        # The first product also prepares the others, and other work on the machine may slow any: the fastest counts.
        seconds[dtype] = min(timeit.repeat(partial(torch.matmul, matrix, matrix), number=1, repeat=8))
    return seconds[torch.bfloat16] < seconds[torch.float32]


def pretrained(folder: Path, seed: int) -> ReaderEncoder:
    """Make a reader's encoder from a pretrained BERT encoder and untrained heads.

    :param folder: The folder of the encoder, as Hugging Face writes it, with its ``tokenizer.json``.
    :param seed: The seed of the heads' weights.
    :returns: The reader's encoder.
    :raises BadInput: When a weight of the encoder is not in the folder, or a weight in the folder is not of a BERT
        encoder, or its tokenizer separates texts by other tokens than BERT does.
    """
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    encoder, loaded = BertModel.from_pretrained(folder, add_pooling_layer=False, output_loading_info=True)
    check_weights(folder, loaded["missing_keys"], loaded["unexpected_keys"])
    check_separators(folder)
    torch.manual_seed(seed)
    reader = ReaderEncoder(encoder.config)
    reader.encoder.load_state_dict(encoder.state_dict())
    return reader


def mean_of(readers: Sequence[ReaderEncoder], shares: Sequence[float] = ()) -> ReaderEncoder:
    """Average the weights of encoders that were trained from the same start. Without ``shares``, all count equally."""
    mean = ReaderEncoder(readers[0].encoder.config)
    states = [reader.state_dict() for reader in readers]
    parts = shares or [1 / len(readers)] * len(readers)
    averaged = {}
    for name, value in states[0].items():
        if value.is_floating_point():
            averaged[name] = sum(part * state[name] for part, state in zip(parts, states, strict=True))
        else:
            # A table of positions, the same in all.
            averaged[name] = value
    mean.load_state_dict(averaged)
    return mean


@dataclass(frozen=True)
class Tokens:
    """An example as tokens."""

    ids: list[int]  # the ids of the tokens
    types: list[int]  # for each token, 0 in the question and 1 in the passages
    is_text: list[bool]  # for each token, whether it belongs to a passage
    starts: list[int]  # the positions of the tokens at which a right answer starts
    ends: list[int]  # the positions of the tokens at which a right answer ends
    kind: int  # the index of the answer's kind in `KINDS`
    question: int  # the number of the question's tokens, including separators


def tokens_of(tokenizer: object, example: Example, longest: int = LONGEST) -> Tokens | None:
    """Tokenize an example. Return None if its answer begins or ends inside a token wherever it occurs.

    The encoder can only answer with whole tokens.
    """
    encoded = encode(tokenizer, example.question, example.passages, longest)
    starts: set[int] = set()
    ends: set[int] = set()
    if example.kind == "span":
        begins = {}
        stops = {}
        for place, passage in enumerate(encoded.passage):
            begins[passage, encoded.begin[place]] = place
            stops[passage, encoded.end[place]] = place
        for gold in example.gold:
            for answer in example.answers:
                length = len(answer.strip())
                for place in find_answers(encoded.texts[gold], answer):
                    start = begins.get((gold, place))
                    end = stops.get((gold, place + length))
                    if start is not None and end is not None:
                        starts.add(start)
                        ends.add(end)
        if not starts:
            return None
    is_text = [place >= 0 for place in encoded.passage]
    kind = KINDS.index(example.kind)
    return Tokens(encoded.ids, encoded.types, is_text, sorted(starts), sorted(ends), kind, encoded.types.count(0))


def loss_of(reader: ReaderEncoder, batch: Sequence[Tokens], draw: random.Random | None = None) -> Tensor:
    """Compute the loss for the kinds, starts and ends of answers. If several starts or ends are right, any is enough.

    With ``draw``, the passages of half of the examples get higher position ids, which are otherwise rare.
    """
    size = max(len(tokens.ids) for tokens in batch)
    ids, types, mask, is_text, positions = (torch.zeros(len(batch), size, dtype=torch.long) for _ in range(5))
    for row, tokens in enumerate(batch):
        count = len(tokens.ids)
        ids[row, :count] = torch.tensor(tokens.ids)
        types[row, :count] = torch.tensor(tokens.types)
        is_text[row, :count] = torch.tensor(tokens.is_text, dtype=torch.long)
        mask[row, :count] = 1
        positions[row, :count] = torch.arange(count)
        if draw is not None and draw.random() < 0.5:
            positions[row, tokens.question : count] += draw.randint(0, LONGEST - count)
    with torch.autocast("cpu", torch.bfloat16, enabled=is_faster_in_bfloat16()):
        start, end, kind = reader(ids, mask, types, positions)
    start, end = (scores.float().masked_fill(is_text == 0, _MASKED).log_softmax(-1) for scores in (start, end))
    kinds = torch.tensor([tokens.kind for tokens in batch])
    loss = nn.functional.cross_entropy(kind.float(), kinds)
    spans = []
    for row, tokens in enumerate(batch):
        if tokens.starts:
            start_likelihood = torch.logsumexp(start[row, tokens.starts], 0)
            end_likelihood = torch.logsumexp(end[row, tokens.ends], 0)
            spans.append(-start_likelihood - end_likelihood)
    return loss + torch.stack(spans).mean() if spans else loss


def train_encoder(
    reader: ReaderEncoder,
    tokenizer: object,
    examples: Iterable[Example],
    longest: int,
    phase: Phase,
    seed: int,
    checkpoint: Path,
    on_progress: Callable[[str], None] = print,
    moves_positions: bool = False,
) -> int:
    """Train an encoder for one phase, as described for :func:`train_phase`."""
    tokenized = (tokens_of(tokenizer, example, longest) for example in examples)
    tokens = [example for example in tokenized if example is not None]

    def loss(batch: list[int], step: int) -> Tensor:
        draw = random.Random(f"{seed}-{step}") if moves_positions else None
        return loss_of(reader, [tokens[number] for number in batch], draw)

    return train_phase(reader, [len(example.ids) for example in tokens], loss, phase, seed, checkpoint, on_progress)
