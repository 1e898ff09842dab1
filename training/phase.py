"""Train a neural network for one phase of a training.

The phase ends after a number of steps or a number of minutes. Checkpoints let an interrupted training continue.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

# At least this number of seconds passes between two checkpoints.
_CHECKPOINT_SECONDS = 300
# The number of examples that are sorted by their length and cut into batches together.
_GROUP = 256
# The number of steps between two lines of progress. A line has the mean loss of these steps.
_STEPS_PER_LINE = 25


@dataclass(frozen=True)
class Phase:
    """The settings of one phase of a training."""

    name: str  # the name in the log
    epochs: float  # how often each example is seen; 1.5 means that half of the examples are seen twice
    rate: float  # the highest learning rate; it is reached at the end of the warm-up and then falls to 1% of this value
    minutes: float  # the maximum duration of the phase, in minutes
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
    """Train for one phase. If there is a checkpoint, continue from it.

    :param model: The network, which is changed.
    :param lengths: The number of tokens of each example.
    :param loss_of: A function that computes the loss of a batch. It gets the indices of the examples in the batch, and
        the number of the step, counted from 0.
    :param phase: The settings of the phase.
    :param seed: The seed of the order of the examples.
    :param checkpoint: The file of the checkpoint.
    :param on_progress: A function that is called with each line of progress.
    :returns: The number of steps of the phase, with those of earlier calls.
    """
    state = torch.load(checkpoint, weights_only=True) if checkpoint.exists() else None
    if state is not None:
        model.load_state_dict(state["model"])
        if state["done"]:
            return int(state["step"])

    on_progress(f"{phase.name}: {len(lengths)} examples, {sum(lengths)} tokens")
    optimizer = torch.optim.AdamW(model.parameters(), lr=phase.rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    batches = _batches(lengths, phase, seed)
    first_step = 0  # the first step that is left to do
    seconds_before = 0.0  # the seconds of earlier calls
    started = time.monotonic()
    if state is not None:
        optimizer.load_state_dict(state["optimizer"])
        first_step, seconds_before = state["step"], state["seconds"]
        on_progress(f"{phase.name}: continues from step {first_step}")

    model.train()
    losses: list[float] = []
    tokens_read = 0  # by this call
    processor_started = time.process_time()
    saved = started
    step = first_step
    for step in range(first_step, len(batches)):
        seconds = seconds_before + time.monotonic() - started
        progress = max(step / len(batches), seconds / (60 * phase.minutes))
        if progress >= 1:
            break

        _set_rate(optimizer, phase, step, progress)
        loss = loss_of(batches[step], step)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        tokens_read += sum(lengths[number] for number in batches[step])

        if (step + 1) % _STEPS_PER_LINE == 0:
            tokens_per_second = tokens_read / max(1e-9, time.process_time() - processor_started)
            latest_losses = losses[-_STEPS_PER_LINE:]
            on_progress(
                f"{phase.name}: step {step + 1} of {len(batches)}, {100 * progress:.0f}%, loss "
                f"{sum(latest_losses) / len(latest_losses):.3f}, {seconds:.0f} s, {tokens_per_second:.0f} tokens/cpu-s"
            )
        if time.monotonic() - saved > _CHECKPOINT_SECONDS:
            saved = time.monotonic()
            _save(checkpoint, model, optimizer, step + 1, seconds_before + saved - started, False)
    _save(checkpoint, model, optimizer, step + 1, seconds_before + time.monotonic() - started, True)
    return step + 1


def _set_rate(optimizer: torch.optim.Optimizer, phase: Phase, step: int, progress: float) -> None:
    """Set the learning rate of a step. It rises during the warm-up, and then falls as the phase progresses."""
    warm_up = min(1.0, (step + 1) / phase.warm_up)
    for group in optimizer.param_groups:
        group["lr"] = phase.rate * warm_up * max(0.01, 1 - progress)


def _batches(lengths: Sequence[int], phase: Phase, seed: int) -> list[list[int]]:
    """Draw batches of examples of similar length, as indices of the examples.

    The examples are shuffled and taken in groups of 256. Within a group, examples are sorted by their length and cut
    into batches.
    """
    draw = random.Random(seed)
    order: list[int] = []
    total = round(phase.epochs * len(lengths))
    while len(order) < total:
        epoch = list(range(len(lengths)))
        draw.shuffle(epoch)
        order += epoch[: total - len(order)]
    batches: list[list[int]] = []
    for begin in range(0, len(order), _GROUP):
        group = sorted(order[begin : begin + _GROUP], key=lambda number: lengths[number])
        batches_of_group: list[list[int]] = [[]]
        for number in group:
            batch = batches_of_group[-1]
            # The longest example comes last, and the others of the batch are padded to its length.
            padded_tokens = lengths[number] * (len(batch) + 1)
            if batch and padded_tokens > phase.batch_tokens:
                batch = []
                batches_of_group.append(batch)
            batch.append(number)
        draw.shuffle(batches_of_group)
        batches += batches_of_group
    return batches


def _save(
    file: Path, model: nn.Module, optimizer: torch.optim.Optimizer, step: int, seconds: float, done: bool
) -> None:
    """Write a checkpoint. An older checkpoint is replaced only when the new one is complete."""
    state: dict[str, object] = {"model": model.state_dict(), "step": step, "seconds": seconds, "done": done}
    if not done:
        state["optimizer"] = optimizer.state_dict()
    part = file.with_suffix(".part")
    torch.save(state, part)
    part.replace(file)
