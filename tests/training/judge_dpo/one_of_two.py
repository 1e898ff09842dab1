"""One of two processes that train together, as `accelerate launch` starts them, on a processor in place of GPUs."""

import sys
from pathlib import Path

import torch
from accelerate.state import PartialState
from accelerate.utils import DistributedType

# With so small a model, threads that wait for each other cost more than they save.
torch.set_num_threads(1)
_begin = PartialState.__init__


def begin(state: PartialState, cpu: bool = False, **others: object) -> None:
    # Accelerate divides weights only between GPUs; PyTorch can also divide them between processes.
    _begin(state, cpu, **others)
    if state.distributed_type is DistributedType.MULTI_CPU:
        state.distributed_type = DistributedType.MULTI_GPU


PartialState.__init__ = begin

from prefrag.training.judge_dpo import fit  # noqa: E402

model, data, output = sys.argv[1:]
_make_trainer = fit._make_trainer


def make_trainer(*arguments: object) -> object:
    trainer = _make_trainer(*arguments)
    assert trainer.is_fsdp_enabled
    return trainer


fit._make_trainer = make_trainer
facts = fit.fit(Path(data), Path(output), fit.FitSettings(model, batch=2, max_steps=3))
print(facts["devices"], "devices")
