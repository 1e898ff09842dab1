"""Train the encoder of the reader, with checkpoints from which it goes on."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from prefrag.training.reader.encoder import ReaderEncoder, Tokens, loss_of, tokens_of
from prefrag.training.reader.examples import Example


@dataclass(frozen=True)
class Phase:
    """How a part of the training goes.

    :param name: Its name, in the log and of its checkpoint.
    :param epochs: How often each example is seen.
    :param rate: The highest learning rate.
    :param minutes: The most minutes; the rate falls to zero by then at the latest.
    :param batch_tokens: About how many tokens a step has.
    :param warm_up: Over how many steps the rate rises.
    :param moves_positions: See :func:`prefrag.training.reader.encoder.loss_of`.
    """

    name: str
    epochs: float
    rate: float
    minutes: float
    batch_tokens: int = 3200
    warm_up: int = 60
    moves_positions: bool = False


def train_phase(
    reader: ReaderEncoder,
    tokenizer: object,
    examples: Iterable[Example],
    longest: int,
    phase: Phase,
    seed: int,
    checkpoint: Path,
    on_progress: Callable[[str], None] = print,
    checkpoint_seconds: float = 300,
) -> int:
    """Train for one phase; where its checkpoint exists, go on from there.

    :param reader: The encoder, which is changed.
    :param tokenizer: See :func:`prefrag.components.reader.reader_input.load_tokenizer`.
    :param examples: The examples.
    :param longest: The most tokens of an example.
    :param phase: The settings.
    :param seed: The seed of the order.
    :param checkpoint: The file that is written now and then, and at the end.
    :param on_progress: Called with a line now and then.
    :param checkpoint_seconds: How often the checkpoint is written.
    :returns: The number of steps.
    """
    kept = torch.load(checkpoint, weights_only=True) if checkpoint.exists() else None
    if kept is not None:
        reader.load_state_dict(kept["reader"])
        if kept["done"]:
            return int(kept["step"])
    tokens = [one for example in examples if (one := tokens_of(tokenizer, example, longest)) is not None]
    on_progress(f"{phase.name}: {len(tokens)} examples, {sum(len(one.ids) for one in tokens)} tokens")
    optimizer = torch.optim.AdamW(reader.parameters(), lr=phase.rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    batches = _batches(tokens, phase, seed)
    first, before, started = 0, 0.0, time.monotonic()
    if kept is not None:
        optimizer.load_state_dict(kept["optimizer"])
        first, before = kept["step"], kept["seconds"]
        on_progress(f"{phase.name}: goes on from step {first}")
    reader.train()
    losses: list[float] = []
    read, processor, saved, step = 0, time.process_time(), started, first
    for step in range(first, len(batches)):
        seconds = before + time.monotonic() - started
        progress = max(step / len(batches), seconds / (60 * phase.minutes))
        if progress >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = phase.rate * min(1.0, (step + 1) / phase.warm_up) * max(0.01, 1 - progress)
        batch = [tokens[number] for number in batches[step]]
        draw = random.Random(f"{seed}-{step}") if phase.moves_positions else None
        loss = loss_of(reader, batch, draw)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        read += sum(len(one.ids) for one in batch)
        if step % 25 == 24:
            per_second = read / max(1e-9, time.process_time() - processor)
            on_progress(
                f"{phase.name}: step {step + 1} of {len(batches)}, {100 * progress:.0f}%, loss "
                f"{sum(losses[-25:]) / len(losses[-25:]):.3f}, {seconds:.0f} s, {per_second:.0f} tokens/cpu-s"
            )
        if time.monotonic() - saved > checkpoint_seconds:
            saved = time.monotonic()
            _save(checkpoint, reader, optimizer, step + 1, before + saved - started, False)
    _save(checkpoint, reader, optimizer, step + 1, before + time.monotonic() - started, True)
    return step + 1


def _batches(examples: Sequence[Tokens], phase: Phase, seed: int) -> list[list[int]]:
    """Draw batches of examples of like length.

    :param examples: The examples.
    :param phase: The settings.
    :param seed: The seed of the order.
    :returns: The places of the examples of each step.
    """
    draw = random.Random(seed)
    order: list[int] = []
    total = round(phase.epochs * len(examples))
    while len(order) < total:
        epoch = list(range(len(examples)))
        draw.shuffle(epoch)
        order += epoch[: total - len(order)]
    batches: list[list[int]] = []
    for begin in range(0, len(order), 256):
        near: list[list[int]] = [[]]
        for number in sorted(order[begin : begin + 256], key=lambda number: len(examples[number].ids)):
            if near[-1] and len(examples[number].ids) * (len(near[-1]) + 1) > phase.batch_tokens:
                near.append([])
            near[-1].append(number)
        draw.shuffle(near)
        batches += near
    return batches


def _save(
    file: Path, reader: ReaderEncoder, optimizer: torch.optim.Optimizer, step: int, seconds: float, done: bool
) -> None:
    kept: dict[str, Any] = {"reader": reader.state_dict(), "step": step, "seconds": seconds, "done": done}
    if not done:
        kept["optimizer"] = optimizer.state_dict()
    part = file.with_suffix(".part")
    torch.save(kept, part)
    part.replace(file)
