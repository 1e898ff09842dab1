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
    """Train for one phase; where its checkpoint exists, go on from there."""
    tokens = [one for example in examples if (one := tokens_of(tokenizer, example, longest)) is not None]

    def loss(batch: list[int], step: int) -> Tensor:
        draw = random.Random(f"{seed}-{step}") if moves_positions else None
        return loss_of(reader, [tokens[number] for number in batch], draw)

    return train_phase(reader, [len(one.ids) for one in tokens], loss, phase, seed, checkpoint, on_progress)
