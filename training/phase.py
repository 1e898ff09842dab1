"""Train a neural network. Checkpoints let an interrupted training continue."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

_CHECKPOINT_SECONDS = 300  # the minimum time between two checkpoints


@dataclass(frozen=True)
class Phase:
    """The settings of one phase of a training."""

    name: str  # the name in the log
    epochs: float  # how often each example is seen
    rate: float  # the learning rate at the end of the warm-up, from where it falls
    minutes: float  # the maximum number of minutes; by the end of the phase, the learning rate falls to 1% of `rate`
    batch_tokens: int = 3200  # the approximate number of tokens in a batch
    warm_up: int = 60  # the number of steps in which the learning rate rises to `rate`


def train_phase(
    model: nn.Module,
    lengths: Sequence[int],
    loss_of: Callable[[list[int], int], Tensor],
    phase: Phase,
    seed: int,
    checkpoint: Path,
    on_progress: Callable[[str], None] = print,
) -> int:
    """Train for one phase and return the number of its steps. If there is a checkpoint, continue from it.

    :param lengths: The number of tokens of each example.
    :param loss_of: Computes the loss from the indices of a batch's examples and the number of the step.
    """
    state = torch.load(checkpoint, weights_only=True) if checkpoint.exists() else None
    if state is not None:
        model.load_state_dict(state["model"])
        if state["done"]:
            return int(state["step"])
    on_progress(f"{phase.name}: {len(lengths)} examples, {sum(lengths)} tokens")
    optimizer = torch.optim.AdamW(model.parameters(), lr=phase.rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    batches = _batches(lengths, phase, seed)
    first = 0  # the first step that is left to do
    before = 0.0  # the seconds of earlier calls
    started = time.monotonic()
    if state is not None:
        optimizer.load_state_dict(state["optimizer"])
        first, before = state["step"], state["seconds"]
        on_progress(f"{phase.name}: continues from step {first}")
    model.train()
    losses: list[float] = []
    read = 0  # the tokens that this call has read
    processor = time.process_time()
    saved = started
    step = first
    for step in range(first, len(batches)):
        seconds = before + time.monotonic() - started
        progress = max(step / len(batches), seconds / (60 * phase.minutes))
        if progress >= 1:
            break
        for group in optimizer.param_groups:
            warm_up = min(1.0, (step + 1) / phase.warm_up)
            group["lr"] = phase.rate * warm_up * max(0.01, 1 - progress)
        loss = loss_of(batches[step], step)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        read += sum(lengths[number] for number in batches[step])
        if step % 25 == 24:
            per_second = read / max(1e-9, time.process_time() - processor)
            latest = losses[-25:]
            on_progress(
                f"{phase.name}: step {step + 1} of {len(batches)}, {100 * progress:.0f}%, loss "
                f"{sum(latest) / len(latest):.3f}, {seconds:.0f} s, {per_second:.0f} tokens/cpu-s"
            )
        if time.monotonic() - saved > _CHECKPOINT_SECONDS:
            saved = time.monotonic()
            _save(checkpoint, model, optimizer, step + 1, before + saved - started, False)
    _save(checkpoint, model, optimizer, step + 1, before + time.monotonic() - started, True)
    return step + 1


def _batches(lengths: Sequence[int], phase: Phase, seed: int) -> list[list[int]]:
    """Draw batches of examples of similar length."""
    draw = random.Random(seed)
    order: list[int] = []
    total = round(phase.epochs * len(lengths))
    while len(order) < total:
        epoch = list(range(len(lengths)))
        draw.shuffle(epoch)
        order += epoch[: total - len(order)]
    batches: list[list[int]] = []
    for begin in range(0, len(order), 256):
        near: list[list[int]] = [[]]
        for number in sorted(order[begin : begin + 256], key=lambda number: lengths[number]):
            if near[-1] and lengths[number] * (len(near[-1]) + 1) > phase.batch_tokens:
                near.append([])
            near[-1].append(number)
        draw.shuffle(near)
        batches += near
    return batches


def _save(
    file: Path, model: nn.Module, optimizer: torch.optim.Optimizer, step: int, seconds: float, done: bool
) -> None:
    state: dict[str, object] = {"model": model.state_dict(), "step": step, "seconds": seconds, "done": done}
    if not done:
        state["optimizer"] = optimizer.state_dict()
    part = file.with_suffix(".part")
    torch.save(state, part)
    part.replace(file)
