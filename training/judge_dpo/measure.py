"""Measure how often a model judges correctly on held-out steps."""

from collections.abc import Sequence

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from prefrag.components.judge.model_judge import read_judgement
from prefrag.training.area_under_curve import area_under_curve
from prefrag.training.judge_dpo.pairs import Row, canonical_reply


def measure(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    steps: Sequence[Row],
    reply_tokens: int = 512,
    batch: int = 8,
) -> dict[str, float | None]:
    """Measure a model in two ways.

    For ``accuracy``, the model writes verdicts at temperature 0, without a schema. An unreadable or cut-off verdict
    counts as wrong. For ``likelihood_accuracy``, the model writes nothing. Of two replies from a template, True and
    False, the more probable one counts as its verdict. ``likelihood_auc`` is the AUC of the difference between the log
    probabilities of these two replies.

    :param model: The model.
    :param tokenizer: Its tokenizer.
    :param steps: The held-out steps. Half of them should have the gold verdict True.
    :param reply_tokens: The maximum number of tokens of a verdict. With 0, the model writes no verdicts.
    :param batch: The number of verdicts that are written at the same time.
    :returns: The number of ``steps``, and shares from 0 to 1: ``likelihood_accuracy`` and ``likelihood_auc``. If
        verdicts are written, also ``accuracy``, ``says_true`` and ``unreadable``.
    """
    was_training = model.training
    model.eval()
    try:
        # How much more probable the reply True is than the reply False, as a difference of log probabilities.
        scores = []
        for step in steps:
            log_true, log_false = log_probabilities(
                model, tokenizer, step, [canonical_reply(True), canonical_reply(False)]
            )
            scores.append(log_true - log_false)
        verdicts: list[bool | None] = []
        if reply_tokens:
            for begin in range(0, len(steps), batch):
                verdicts += _write_verdicts(model, tokenizer, steps[begin : begin + batch], reply_tokens)
    finally:
        model.train(was_training)

    gold_verdicts = [step["status"] == "True" for step in steps]
    are_likely_right = [(score > 0) == gold for score, gold in zip(scores, gold_verdicts, strict=True)]
    measured: dict[str, float | None] = {
        "steps": len(steps),
        "likelihood_accuracy": _share(are_likely_right),
        "likelihood_auc": _area(scores, gold_verdicts),
    }
    if reply_tokens:
        are_right = [verdict is gold for verdict, gold in zip(verdicts, gold_verdicts, strict=True)]
        measured["accuracy"] = _share(are_right)
        measured["says_true"] = _share([verdict is True for verdict in verdicts])
        measured["unreadable"] = _share([verdict is None for verdict in verdicts])
    return measured


@torch.no_grad()
def _write_verdicts(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, steps: Sequence[Row], reply_tokens: int
) -> list[bool | None]:
    """Let the model write a verdict for each step. None if the verdict is cut off or cannot be read."""
    prompts = [tokenize_prompt(tokenizer, step) for step in steps]
    longest = max(map(len, prompts))
    padded = []
    masks = []
    for prompt in prompts:
        # Prompts are padded on the left, so that every reply begins at the same place.
        padding = longest - len(prompt)
        padded.append([tokenizer.pad_token_id] * padding + prompt)
        masks.append([0] * padding + [1] * len(prompt))
    ids = torch.tensor(padded)
    mask = torch.tensor(masks)
    with torch.autocast(model.device.type, dtype=torch.bfloat16):
        written = model.generate(
            input_ids=ids.to(model.device),
            attention_mask=mask.to(model.device),
            max_new_tokens=reply_tokens,
            do_sample=False,
            temperature=None,
            top_p=None,
            top_k=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )[:, longest:]

    verdicts = []
    for reply in written.tolist():
        is_whole = tokenizer.eos_token_id in reply
        verdict = read_judgement(tokenizer.decode(reply, skip_special_tokens=True)) if is_whole else None
        verdicts.append(None if verdict is None else verdict.status)
    return verdicts


@torch.no_grad()
def log_probabilities(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, step: Row, replies: Sequence[str]
) -> list[float]:
    """Compute the log probabilities with which a model would write replies to the prompt of a step.

    :param model: The model.
    :param tokenizer: Its tokenizer.
    :param step: The step, with its ``prompt``.
    :param replies: The replies.
    :returns: The log probability of each reply.
    """
    prompt = tokenize_prompt(tokenizer, step)
    completions = [tokenizer(reply, add_special_tokens=False)["input_ids"] for reply in replies]
    longest = max(map(len, completions))
    padded = []
    masks = []
    for completion in completions:
        padding = longest - len(completion)
        padded.append(prompt + completion + [tokenizer.pad_token_id] * padding)
        masks.append([1] * (len(prompt) + len(completion)) + [0] * padding)
    ids = torch.tensor(padded, device=model.device)
    mask = torch.tensor(masks, device=model.device)
    # Each token is predicted at the place before it. `logits_to_keep` may also be the number of places from the end.
    # But then the model multiplies a view of its hidden states, which takes 20 times as long on a processor.
    places = torch.arange(len(prompt) - 1, ids.shape[1] - 1, device=model.device)
    with torch.autocast(model.device.type, dtype=torch.bfloat16):
        logits = model(input_ids=ids, attention_mask=mask, use_cache=False, logits_to_keep=places).logits
    # The log probability of each token of each reply, and of the padding behind it.
    log_of_tokens = torch.log_softmax(logits.float(), dim=-1).gather(2, ids[:, len(prompt) :, None])[..., 0]
    log_of_replies = []
    for completion, values in zip(completions, log_of_tokens, strict=True):
        log_of_replies.append(float(values[: len(completion)].sum()))
    return log_of_replies


def tokenize_prompt(tokenizer: PreTrainedTokenizerBase, row: Row) -> list[int]:
    """Return the tokens of a prompt, as the model's server makes them.

    :param tokenizer: The tokenizer of the model.
    :param row: A pair or a held-out step, with its ``prompt``.
    :returns: The ids of the tokens.
    """
    template = row.get("chat_template_kwargs") or {}
    ids = tokenizer.apply_chat_template(row["prompt"], add_generation_prompt=True, return_dict=False, **template)
    return list(ids)


def _area(scores: Sequence[float], gold_verdicts: Sequence[bool]) -> float | None:
    """Return how well the scores tell True steps from False ones. None if all steps have the same gold verdict."""
    if len(set(gold_verdicts)) < 2:
        return None
    return round(area_under_curve(gold_verdicts, scores), 4)


def _share(values: Sequence[bool]) -> float | None:
    """Return the share of true values. None if there are no values."""
    return round(sum(values) / len(values), 4) if values else None
