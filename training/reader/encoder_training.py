"""Train the encoder of the reader."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path

from torch import Tensor

from prefrag.training.phase import Phase, train_phase
from prefrag.training.reader.encoder import ReaderEncoder, loss_of, tokens_of
from prefrag.training.reader.examples import Example


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
    """Train for one phase; where its checkpoint exists, go on from there.

    :param reader: The encoder, which is changed.
    :param tokenizer: See :func:`prefrag.components.reader.reader_input.load_tokenizer`.
    :param examples: The examples.
    :param longest: The most tokens of an example.
    :param phase: The settings.
    :param seed: The seed of the order.
    :param checkpoint: See :func:`train_phase`.
    :param on_progress: Called with a line now and then.
    :param moves_positions: See :func:`prefrag.training.reader.encoder.loss_of`.
    :returns: The number of steps.
    """
    tokens = [one for example in examples if (one := tokens_of(tokenizer, example, longest)) is not None]

    def loss(batch: list[int], step: int) -> Tensor:
        draw = random.Random(f"{seed}-{step}") if moves_positions else None
        return loss_of(reader, [tokens[number] for number in batch], draw)

    return train_phase(reader, [len(one.ids) for one in tokens], loss, phase, seed, checkpoint, on_progress)
