"""The encoder of the extractive reader, and its training.

The encoder reads a question together with passages. It gives each token a score as the first and as the last token of
the answer. It also scores the kinds of answers: a span of the text, yes, no, or none.
"""

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
# Weights that a folder may have besides those of the encoder. They are either heads of the pretraining, such as
# "bert.pooler.dense.weight" and "cls.predictions.bias", or "embeddings.position_ids", which the encoder computes.
# "encoder.layer.0.output.dense.weight" does not match.
_HEAD = re.compile(r"^(?:bert\.)?(?:pooler|cls|classifier|qa_outputs)\.|position_ids$")
# The shape of the matrices that `is_faster_in_bfloat16` multiplies.
_PROBED = (512, 512)
# The score of a token outside of the passages, where no answer can be. It is far below all other scores.
_MASKED = -1e4


class ReaderEncoder(nn.Module):
    """A BERT encoder with a head for the starts and ends of spans, and a head for the kind of answer.

    :param config: The configuration of the BERT encoder. Its dropout is switched off.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        # There is no dropout, because an example is seen only once or twice. On a CPU, drawing the masks of the dropout
        # would also take half of the time of a step.
        config.hidden_dropout_prob = 0.0
        config.attention_probs_dropout_prob = 0.0
        self.encoder = BertModel(config, add_pooling_layer=False)
        # On a CPU, the backward pass of fused attention is slow. With eager attention, a step takes a third less time.
        self.encoder.set_attn_implementation("eager")
        self.span = nn.Linear(config.hidden_size, 2)
        self.kind = nn.Linear(config.hidden_size, len(KINDS))
        for head in (self.span, self.kind):
            nn.init.normal_(head.weight, std=0.02)
            nn.init.zeros_(head.bias)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, position_ids: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the scores of the answers.

        :param input_ids: The ids of the tokens, one row for each example.
        :param attention_mask: For each token, 1, or 0 if it is padding.
        :param token_type_ids: For each token, 0 in the question and 1 in the passages.
        :param position_ids: The positions of the tokens. None counts them from 0.
        :returns: The scores of each token as the start of the answer, the scores of each token as its end, and the
            scores of the kinds of answers in the order of :data:`KINDS`.
        """
        hidden = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids, position_ids=position_ids
        ).last_hidden_state
        scores = self.span(hidden)
        return scores[..., 0], scores[..., 1], self.kind(hidden[:, 0])


def check_weights(folder: Path, missing: Iterable[str], unexpected: Iterable[str]) -> None:
    """Check that all weights of an encoder were loaded. Missing weights would stay random.

    :param folder: The folder of the encoder.
    :param missing: The names of the weights that the encoder needs but the folder does not have.
    :param unexpected: The names of the weights that the folder has but the encoder does not need.
    :raises BadInput: If a weight is missing, or if the folder has one that no BERT encoder has.
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
    :raises BadInput: If the tokenizer separates them by other tokens.
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
    """Try whether this processor multiplies faster in bfloat16 than in float32. Some processors cannot.

    :returns: True if the fastest of eight products in bfloat16 took less time than the fastest of eight in float32.
    """
    seconds = {}
    for dtype in (torch.float32, torch.bfloat16):
        matrix = torch.ones(_PROBED, dtype=dtype)
        # The fastest product counts. The first one also prepares the others, and other work on the machine may slow any
        # of them.
        seconds[dtype] = min(timeit.repeat(partial(torch.matmul, matrix, matrix), number=1, repeat=8))
    return seconds[torch.bfloat16] < seconds[torch.float32]


def pretrained(folder: Path, seed: int) -> ReaderEncoder:
    """Make a reader's encoder from a pretrained BERT encoder and untrained heads.

    :param folder: The folder of the encoder, as Hugging Face writes it, with its ``tokenizer.json``.
    :param seed: The seed of the heads' weights.
    :returns: The reader's encoder.
    :raises BadInput: If the folder lacks a weight of the encoder, or has a weight that no BERT encoder has. Also if its
        tokenizer separates texts by other tokens than BERT does.
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
    """Average the weights of encoders that were trained from the same start.

    :param readers: The encoders, at least one.
    :param shares: The share of each encoder in the mean. The shares add up to 1. Empty means that all count equally.
    :returns: A new encoder.
    """
    mean = ReaderEncoder(readers[0].encoder.config)
    states = [reader.state_dict() for reader in readers]
    parts = shares or [1 / len(readers)] * len(readers)
    averaged = {}
    for name, value in states[0].items():
        if value.is_floating_point():
            averaged[name] = sum(part * state[name] for part, state in zip(parts, states, strict=True))
        else:
            # This is a table of positions, which is the same in all encoders.
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
    """Split an example into tokens.

    :param tokenizer: The tokenizer.
    :param example: The example.
    :param longest: The maximum number of tokens.
    :returns: The tokens. None if the answer begins or ends inside a token wherever it occurs, because the encoder can
        only answer with whole tokens.
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
    """Compute the loss for the kinds, starts and ends of answers.

    If several starts or ends are right, it is enough that the encoder finds any of them.

    :param reader: The encoder.
    :param batch: The examples, as tokens.
    :param draw: A random number generator. With it, the passages of half of the examples get higher position ids,
        which are otherwise rare. None leaves the positions as they are.
    :returns: The loss.
    """
    size = max(len(tokens.ids) for tokens in batch)
    shape = (len(batch), size)
    ids = torch.zeros(shape, dtype=torch.long)
    types = torch.zeros(shape, dtype=torch.long)
    mask = torch.zeros(shape, dtype=torch.long)
    is_text = torch.zeros(shape, dtype=torch.long)
    positions = torch.zeros(shape, dtype=torch.long)
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
    # An answer can only be in the text of a passage.
    start = start.float().masked_fill(is_text == 0, _MASKED).log_softmax(-1)
    end = end.float().masked_fill(is_text == 0, _MASKED).log_softmax(-1)
    kinds = torch.tensor([tokens.kind for tokens in batch])
    loss = nn.functional.cross_entropy(kind.float(), kinds)

    spans = []
    for row, tokens in enumerate(batch):
        if tokens.starts:
            start_likelihood = torch.logsumexp(start[row, tokens.starts], 0)
            end_likelihood = torch.logsumexp(end[row, tokens.ends], 0)
            spans.append(-start_likelihood - end_likelihood)
    if spans:
        loss = loss + torch.stack(spans).mean()
    return loss


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
    """Train an encoder for one phase, see :func:`train_phase`.

    :param reader: The encoder, which is changed.
    :param tokenizer: The tokenizer.
    :param examples: The examples. Those whose answer is not made of whole tokens are left out.
    :param longest: The maximum number of tokens of an example.
    :param phase: The settings of the phase.
    :param seed: The seed of all random choices.
    :param checkpoint: The file of the checkpoint.
    :param on_progress: A function that is called with each line of progress.
    :param moves_positions: If True, the passages of half of the examples get higher position ids, see :func:`loss_of`.
    :returns: The number of steps of the phase.
    """
    tokenized = (tokens_of(tokenizer, example, longest) for example in examples)
    tokens = [example for example in tokenized if example is not None]

    def loss(batch: list[int], step: int) -> Tensor:
        draw = random.Random(f"{seed}-{step}") if moves_positions else None
        return loss_of(reader, [tokens[number] for number in batch], draw)

    return train_phase(reader, [len(example.ids) for example in tokens], loss, phase, seed, checkpoint, on_progress)
