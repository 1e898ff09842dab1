"""Train the judge's model on pairs by direct preference optimisation (section 3.5 and equation 4 of PrefRAG)."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.trainer_utils import get_last_checkpoint
from trl import DPOConfig, DPOTrainer
from trl.kernels import chunked_logprob
from trl.trainer import utils as trainer_utils

from prefrag.training.begun import check_begun, digest, fingerprint
from prefrag.training.card import table, write_card
from prefrag.training.judge_dpo.base_model import check_weights, load_model, load_tokenizer
from prefrag.training.judge_dpo.collection import HELD_OUT, PAIRS
from prefrag.training.judge_dpo.gguf_adapter import LINEAR_PARTS, UnknownArchitecture, write_gguf_adapter
from prefrag.training.judge_dpo.lower_layers import LowerLayers, shared_beginning
from prefrag.training.judge_dpo.measure import measure, tokenize_prompt
from prefrag.training.judge_dpo.pairs import Row

# The names of files and folders in the output. The folder of the checkpoints:
CHECKPOINTS = "checkpoints"
# The folder of the trained model, if all weights are trained:
MODEL = "model"
# The folder of the trained LoRA (a small set of weights that is added to those of the model):
ADAPTER = "adapter"
# The LoRA as a file for llama.cpp:
GGUF_ADAPTER = "adapter.gguf"
# The folder of the log:
LOG = "tensorboard"
# The outputs of the layers that are not trained, with `upper_layers`, in the folder of the checkpoints:
LOWER_LAYERS = "lower_layers"
# The measures of the model before the training, in the folder of the checkpoints:
_BEFORE = "before.json"
# The packages whose versions the model card names.
_PACKAGES = ("torch", "transformers", "trl", "peft", "datasets", "accelerate")
# Settings that may change when a stopped training is continued.
_FREE = ("log_steps", "max_length", "max_steps", "most_checkpoints", "per_device", "precompute_reference", "save_steps")
# The learning rate if all weights are trained, as in the paper.
LEARNING_RATE = 5e-7
# The learning rate of a LoRA, which starts at zero and needs larger steps.
LORA_LEARNING_RATE = 5e-6


@dataclass(frozen=True)
class FitSettings:
    """How the model is trained. The defaults are from section 3.5 of PrefRAG."""

    model: str  # a folder, a name on the Hugging Face hub, or a GGUF file
    lora: bool = False  # whether to train a LoRA instead of all weights
    lora_rank: int = 16  # the rank of the LoRA; the LoRA's alpha is twice the rank
    # The number of layers, counted from the output, that get a LoRA; None for all. The layers below are computed once
    # for each pair and kept in files, so that a small model can be trained without a GPU.
    upper_layers: int | None = None
    learning_rate: float | None = None  # None for 5e-7, or for 5e-6 with a LoRA
    beta: float = 0.1  # DPO's beta: the higher it is, the closer the model stays to the model before the training
    batch: int = 8  # pairs per step, on all devices together
    per_device: int = 1  # pairs that each device computes at a time
    epochs: float = 1.0  # how often each pair is seen
    max_steps: int | None = None  # the maximum number of steps; None for no limit
    # The maximum tokens of a prompt with its reply. A longer pair stops the training, because no pair may be cut.
    max_length: int | None = None
    # The type of the weights, `float32` or `bfloat16`. The computation is always in bfloat16.
    weights: str = "float32"
    # Whether to compute the reference model's log probabilities beforehand, so that it need not stay in memory.
    precompute_reference: bool = False
    save_steps: int = 100  # the number of steps between two checkpoints
    most_checkpoints: int = 2  # the maximum number of checkpoints; older ones are deleted
    log_steps: int = 10  # the number of steps between two lines of the log
    reply_tokens: int = 512  # the maximum tokens of a verdict that is written to measure the model; 0 writes none
    seed: int = 7

    @property
    def rate(self) -> float:
        """The learning rate: the setting or, without it, the default for all weights or for a LoRA."""
        return self.learning_rate or (LORA_LEARNING_RATE if self.lora else LEARNING_RATE)

    def __post_init__(self) -> None:
        if self.upper_layers is not None and not (self.lora and self.per_device == 1):
            raise ValueError("upper_layers needs a LoRA (--lora) and per_device 1, because pairs are kept one by one.")


def fit(
    data: Path, output: Path, settings: FitSettings, on_progress: Callable[[str], None] = lambda line: None
) -> dict[str, Any]:
    """Train a model. If there are checkpoints, continue from the last one.

    :param data: The folder of the pairs, which ``prefrag train judge-dpo data`` has made.
    :param output: The folder of the training.
    :param settings: How the model is trained.
    :param on_progress: A function that is called with each line of progress.
    :returns: The facts of the model card.
    :raises ValueError: If the checkpoints are of a training with other pairs, another model or other settings.
    """
    started = time.monotonic()
    rows = read_rows(data / PAIRS)
    held_out = read_rows(data / HELD_OUT) if (data / HELD_OUT).is_file() else []
    # A checkpoint can be continued only with the same settings, except for those of `_FREE`.
    fixed_settings = {name: value for name, value in asdict(settings).items() if name not in _FREE}
    fixed_settings |= {"model": digest(settings.model), "learning_rate": settings.rate}
    work = output / CHECKPOINTS
    check_begun(work / "settings.json", **fixed_settings, pairs=fingerprint(rows), held_out=fingerprint(held_out))

    # The arguments are made before the model. They set up the distributed processes, so that only the first process
    # reads the weights.
    arguments = _make_arguments(output, settings)
    tokenizer = load_tokenizer(settings.model)
    model = load_model(settings.model, settings.weights)
    longest = check_lengths(rows, tokenizer, model.config, settings.max_length)
    if settings.upper_layers is not None:
        # The instructions, with which all prompts begin.
        beginning = shared_beginning(tokenize_prompt(tokenizer, row) for row in rows)
        LowerLayers(model, settings.upper_layers, work / LOWER_LAYERS, beginning)

    # Several processes, each with its own device, do not measure.
    measures = arguments.world_size == 1 and bool(held_out)
    measured_before = None
    if measures:
        measured_before = _measure_before(work, model, tokenizer, held_out, settings, on_progress)

    trainer = _make_trainer(model, tokenizer, arguments, rows, settings)
    check_prepared(trainer.train_dataset, rows, tokenizer)
    on_progress(f"{len(rows)} pairs of up to {longest} tokens")
    last_checkpoint = get_last_checkpoint(str(work))
    if last_checkpoint is not None:
        on_progress(f"Continues from {last_checkpoint}")
    trained = trainer.train(resume_from_checkpoint=last_checkpoint)
    weights_folder = output / (ADAPTER if settings.lora else MODEL)
    trainer.save_model(str(weights_folder))

    log_entries = [entry for entry in trainer.state.log_history if "rewards/accuracies" in entry]
    models_of_pairs = rows[0].get("models") or {}
    facts: dict[str, object] = {
        **asdict(settings),
        "learning_rate": settings.rate,
        "pairs": len(rows),
        "canonical": sum(row.get("canonical") is not None for row in rows),
        "longest_tokens": longest,
        "steps": trainer.state.global_step,
        "loss": round(trained.training_loss, 4),
        "last_log": log_entries[-1] if log_entries else None,
        "devices": arguments.world_size,
        "sampled_from": models_of_pairs.get("small"),
        "gold": models_of_pairs.get("gold"),
        "before": measured_before,
        "after": None,
    }
    if measures:
        on_progress("Measuring after the training")
        facts["after"] = measure(trainer.model, tokenizer, held_out, settings.reply_tokens)

    if trainer.is_world_process_zero():
        tokenizer.save_pretrained(weights_folder)
        if settings.lora:
            facts["gguf"] = _write_gguf(weights_folder, model, output / GGUF_ADAPTER, on_progress)
        facts["seconds"] = round(time.monotonic() - started)
        versions = {name: _find_version(name) for name in _PACKAGES}
        facts["versions"] = {name: release for name, release in versions.items() if release}
        _write_card(output, facts)
    return facts


def _write_card(folder: Path, facts: dict[str, Any]) -> None:
    """Write the model card of a training."""
    kind = f"a LoRA of rank {facts['lora_rank']}" if facts["lora"] else "all weights"
    if facts["upper_layers"] is not None:
        kind += f" in the upper {facts['upper_layers']} layers"
    head = ["held-out steps", "n", "right verdicts", "says True", "unreadable", "right by likelihood", "AUC"]
    rows = [_row(name, facts[name]) for name in ("before", "after")]
    versions = [f"{name} {release}" for name, release in facts["versions"].items()]
    write_card(
        folder,
        "A judge of `prefrag train judge-dpo fit`",
        f"From {facts['model']}, {kind}: {facts['pairs']} pairs ({facts['canonical']} with a reply from a template), "
        f"{facts['steps']} steps of {facts['batch']} pairs, learning rate {facts['learning_rate']:g}, "
        f"beta {facts['beta']:g}, {facts['epochs']:g} epochs, seed {facts['seed']}, loss {facts['loss']}, "
        f"{facts['seconds']} s on {facts['devices']} device(s).\n"
        f"The replies were sampled from {facts['sampled_from']}. The gold verdicts are from {facts['gold']}. "
        "Half of the held-out steps have the gold verdict True.",
        table(head, rows),
        f"Versions: {', '.join(versions)}.",
        facts=facts,
    )


def _row(name: str, measured: Mapping[str, float | None] | None) -> list[object]:
    """Return the row of the model card for the measures before or after the training."""
    if measured is None:
        return [name, "not measured", *[""] * 5]
    columns = ("accuracy", "says_true", "unreadable", "likelihood_accuracy", "likelihood_auc")
    row: list[object] = [name, measured["steps"]]
    for column in columns:
        share = measured.get(column)
        row.append("not measured" if share is None else f"{share:.3f}")
    return row


def _find_version(package: str) -> str | None:
    """Return the version of a package. None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def read_rows(file: Path) -> list[Row]:
    """Read a file of `judge-dpo data`: pairs, or the steps that are held out to measure the model.

    :param file: The file, with one JSON object in each line.
    :returns: The objects.
    :raises FileNotFoundError: If there is no such file.
    :raises ValueError: If the file of pairs is empty.
    """
    if not file.is_file():
        raise FileNotFoundError(f"There is no file {file}: make it with `prefrag train judge-dpo data`.")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    if not rows and file.name == PAIRS:
        raise ValueError(f"{file} holds no pairs: collect more, or set canonical=true to fill in missing replies.")
    return rows


def check_lengths(
    rows: Sequence[Row], tokenizer: PreTrainedTokenizerBase, config: PretrainedConfig, max_length: int | None
) -> int:
    """Check that no pair is so long that TRL would silently cut or drop it.

    :param rows: The pairs.
    :param tokenizer: The tokenizer of the model.
    :param config: The configuration of the model, which names its context window.
    :param max_length: The maximum number of tokens of a prompt with its reply. None means that only the context window
        limits it.
    :returns: The number of tokens of the longest prompt with its reply.
    :raises ValueError: If a pair is too long, or if the chat template changes a prompt when a reply follows.
    """
    window = getattr(config, "max_position_embeddings", None)
    limits = [limit for limit in (max_length, window) if limit is not None]
    most = min(limits) if any(limits) else None
    lengths = []
    for row in rows:
        prompt = tokenize_prompt(tokenizer, row)
        template = row.get("chat_template_kwargs") or {}
        for side in ("chosen", "rejected"):
            conversation = tokenizer.apply_chat_template([*row["prompt"], *row[side]], return_dict=False, **template)
            if list(conversation[: len(prompt)]) != prompt:
                raise ValueError(
                    "The chat template changes a prompt when a reply follows, so the model would be trained on other "
                    "prompts than it gets in use. If the model can think, collect pairs with PREFRAG_LLM_THINKING=off."
                )
            lengths.append(len(conversation))

    n_too_long = 0
    if most is not None:
        n_too_long = sum(length > most for length in lengths)
    if n_too_long:
        raise ValueError(
            f"{n_too_long} of {len(lengths)} replies with their prompts are longer than {most} tokens (the longest has "
            f"{max(lengths)}), and none may be cut: raise max_length up to the model's window ({window}), or collect "
            "pairs with fewer documents (--top-k) or a smaller PREFRAG_LLM_CONTEXT."
        )
    return max(lengths)


def check_prepared(prepared: Dataset, rows: Sequence[Row], tokenizer: PreTrainedTokenizerBase) -> None:
    """Check that the trainer has dropped no pair, and that its prompts are those that a server makes.

    :param prepared: The dataset that the trainer has prepared.
    :param rows: The pairs.
    :param tokenizer: The tokenizer of the model.
    :raises ValueError: If a pair was dropped, or if a prompt has other tokens.
    """
    if len(prepared) != len(rows):
        raise ValueError(f"The trainer kept {len(prepared)} of {len(rows)} pairs: none may be dropped.")
    for row, ids in zip(rows, prepared["prompt_ids"], strict=True):
        if list(ids) != tokenize_prompt(tokenizer, row):
            raise ValueError("The trainer changed a prompt, so the model would be trained on a prompt it never gets.")


def _make_arguments(output: Path, settings: FitSettings) -> DPOConfig:
    """Make the arguments of the trainer. Raise ValueError if the batch cannot be divided among the devices."""
    # The number of processes that train together, each with its own device.
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if settings.batch % (settings.per_device * world):
        raise ValueError(
            f"A batch of {settings.batch} cannot be divided among {world} devices with {settings.per_device} pairs "
            "each: change batch or per_device."
        )
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(output / LOG)
    return DPOConfig(
        output_dir=str(output / CHECKPOINTS),
        beta=settings.beta,
        loss_type=["sigmoid"],
        learning_rate=settings.rate,
        num_train_epochs=settings.epochs,
        max_steps=settings.max_steps or -1,
        per_device_train_batch_size=settings.per_device,
        gradient_accumulation_steps=settings.batch // (settings.per_device * world),
        lr_scheduler_type="linear",
        warmup_steps=0,
        weight_decay=0.0,
        max_grad_norm=1.0,
        # With None, TRL neither cuts nor drops pairs. `check_lengths` has refused pairs that are too long.
        max_length=None,
        bf16=True,
        # Few layers need little memory, so nothing is computed again for the gradients.
        gradient_checkpointing=settings.upper_layers is None,
        precompute_ref_log_probs=settings.precompute_reference or settings.upper_layers is not None,
        logging_steps=settings.log_steps,
        save_steps=settings.save_steps,
        save_total_limit=settings.most_checkpoints,
        report_to=["tensorboard"],
        use_cpu=not torch.accelerator.is_available(),
        seed=settings.seed,
    )


def _make_trainer(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    arguments: DPOConfig,
    rows: Sequence[Mapping[str, object]],
    settings: FitSettings,
) -> DPOTrainer:
    """Make the trainer for a model, with a reference model or a LoRA."""
    needed = ("prompt", "chosen", "rejected", "chat_template_kwargs")
    records = []
    for row in rows:
        records.append({name: row[name] for name in needed if name in row})
    dataset = Dataset.from_list(records)
    lora = None
    reference = None
    if settings.lora:
        from peft import LoraConfig

        layers = None
        if settings.upper_layers is not None:
            total = model.config.num_hidden_layers
            layers = list(range(total - settings.upper_layers, total))
        lora = LoraConfig(
            r=settings.lora_rank,
            lora_alpha=2 * settings.lora_rank,
            lora_dropout=0.0,
            # PEFT takes a choice of layers only with the names of their parts.
            target_modules="all-linear" if layers is None else LINEAR_PARTS,
            layers_to_transform=layers,
            task_type="CAUSAL_LM",
        )
    elif not settings.precompute_reference:
        # The reference model is loaded like the model to train. TRL itself would load it from the path in the
        # configuration, which does not name a GGUF file.
        reference = load_model(settings.model, settings.weights)
    trainer_utils._use_triton = _computes_replies_only  # noqa: SLF001 - TRL has no setting for this
    trainer = DPOTrainer(
        model=model,
        ref_model=reference,
        args=arguments,
        train_dataset=dataset,
        processing_class=tokenizer,
        peft_config=lora,
    )
    check_weights(trainer.model, settings.rate)
    return trainer


def _computes_replies_only(device: torch.device) -> bool:
    """Check whether TRL computes logits only of the replies, whose log probabilities the loss needs.

    TRL itself does so only on GPUs. On other devices it also computes those of the prompts and drops them, so that the
    sizes of tensors do not change with the lengths of the replies, for which some devices compile anew. A processor
    compiles nothing, and with 150,000 tokens in the vocabulary the prompts' logits are most of a step's work.

    :param device: The device of the model.
    :returns: Whether the prompts are left out.
    """
    return device.type == "cpu" or bool(chunked_logprob._use_triton(device))  # noqa: SLF001


def _measure_before(
    work: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    held_out: Sequence[Row],
    settings: FitSettings,
    on_progress: Callable[[str], None],
) -> dict[str, float | None]:
    """Measure the model before the training, or read the measures of an earlier call."""
    file = work / _BEFORE
    if not file.is_file():
        on_progress(f"Measuring on {len(held_out)} held-out steps")
        if torch.accelerator.is_available():
            model.to(torch.accelerator.current_accelerator())
        measured = measure(model, tokenizer, held_out, settings.reply_tokens)
        file.write_text(json.dumps(measured), encoding="utf-8")
    return dict(json.loads(file.read_text(encoding="utf-8")))


def _write_gguf(adapter: Path, model: PreTrainedModel, file: Path, on_progress: Callable[[str], None]) -> str | None:
    """Write a LoRA as a file for llama.cpp, and return its name. None if this is not possible for the model."""
    try:
        write_gguf_adapter(adapter, model.config, file)
    except (UnknownArchitecture, ImportError) as error:
        on_progress(f"The GGUF adapter was not written: {error}")
        return None
    return file.name
