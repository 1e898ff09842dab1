"""A tiny random model is sampled, trained, saved, read again and served."""

from __future__ import annotations

import json
import math
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prefrag.components.generators.embedded_chat_generator import EmbeddedChatGenerator
from prefrag.components.judge.model_judge import ModelJudge
from prefrag.training.judge_dpo.collection import PAIRS, Plan, collect
from tests.components.samples import document, found, observed_step, search_step, state
from tests.gguf import needs_gguf
from tests.training.judge_dpo.samples import read_lines, reply, write_dataset
from tests.training.judge_dpo.tiny_model import write_tiny_model

pytestmark = [pytest.mark.slow, needs_gguf]
torch = pytest.importorskip("torch", reason="training needs PyTorch: make test-train")
for package in ("trl", "peft", "datasets", "gguf"):
    pytest.importorskip(package, reason=f"training needs {package}: make test-train")

from prefrag.training import judge_dpo  # noqa: E402
from prefrag.training.judge_dpo.base_model import load_model, load_tokenizer  # noqa: E402
from prefrag.training.judge_dpo.fit import FitSettings, _make_arguments, _make_trainer, check_lengths, fit  # noqa: E402
from prefrag.training.judge_dpo.gguf_adapter import UnknownArchitecture, write_gguf_adapter  # noqa: E402
from prefrag.training.judge_dpo.lower_layers import LowerLayers  # noqa: E402
from prefrag.training.judge_dpo.measure import log_probabilities, tokenize_prompt  # noqa: E402

# With so small a model, threads that wait for each other cost more than they save.
torch.set_num_threads(1)

JUDGED = state(
    observed_step(document("alpha", content="Alpha was built by Beta.")),
    search_step("beta", found(document("beta", content="Beta is a yard."))),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dpo")


@pytest.fixture(scope="module")
def tiny(folder: Path) -> str:
    return str(write_tiny_model(folder / "tiny.gguf"))


@pytest.fixture(scope="module")
def data(folder: Path, tiny: str) -> Path:
    """Pairs of the tiny model's own replies, and held-out steps."""
    small = EmbeddedChatGenerator(tiny, context_window=2_048, timeout=300)
    plan = Plan(labels="gold", llm="simulated", canonical=True, top_k=(2, 2), most_true=4, most_false=4, held_out=0.4)
    plan = replace(plan, held_out_steps=2)
    collect([write_dataset(folder / "questions", 6)], folder / "data", plan, small=small, concurrency=1)
    return folder / "data"


@pytest.fixture(scope="module")
def lora(folder: Path, tiny: str, data: Path) -> Path:
    # The steps are so large that they change the model's replies.
    settings = FitSettings(tiny, lora=True, lora_rank=4, learning_rate=0.02, batch=2, max_steps=3, reply_tokens=8)
    fit(data, folder / "lora", replace(settings, save_steps=2, log_steps=1))
    return folder / "lora"


def write_pairs(folder: Path, count: int = 4, words: int = 3) -> Path:
    rows = [
        {
            "prompt": [{"role": "user", "content": f"Is {place} new? {'word ' * words}"}],
            "chosen": [{"role": "assistant", "content": reply(True)}],
            "rejected": [{"role": "assistant", "content": reply(False)}],
        }
        for place in range(count)
    ]
    folder.mkdir()
    (folder / PAIRS).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


def probabilities(generator: EmbeddedChatGenerator, prompt: str) -> dict[int, float]:
    """The log probabilities of the likeliest first tokens, as llama.cpp computes them."""
    generator.warm_up()
    answer: list[Any] = []
    body = {
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": 1,
        "logprobs": True,
        "top_logprobs": 20,
        "temperature": 1.0,
    }
    generator._model._server.handle_chat_completions(body, answer.append)
    [first] = answer[0]["choices"][0]["logprobs"]["content"]
    return {token["id"]: token["logprob"] for token in first["top_logprobs"]}


class TestLora:
    def test_a_lora_leaves_an_adapter_a_checkpoint_a_log_and_a_card(self, lora: Path):
        card = json.loads((lora / "card.json").read_text())

        assert card["steps"] == 3
        assert card["before"]["steps"] == card["after"]["steps"] > 0
        assert (lora / "adapter" / "adapter_model.safetensors").is_file()
        assert list(lora.glob("checkpoints/checkpoint-*"))
        assert list(lora.glob("tensorboard/events*"))
        assert "right by likelihood" in (lora / "card.md").read_text()

    def test_what_llama_cpp_serves_is_what_was_trained(self, tiny: str, lora: Path):
        from peft import PeftModel

        prompt, tokenizer = "Is anything new?", load_tokenizer(tiny)
        ids = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}], add_generation_prompt=True, return_tensors="pt", return_dict=False
        )
        served = {
            name: probabilities(EmbeddedChatGenerator(tiny, 2_048, adapter_path=adapter), prompt)
            for name, adapter in (("base", None), ("trained", str(lora / "adapter.gguf")))
        }
        models = {"base": load_model(tiny), "trained": PeftModel.from_pretrained(load_model(tiny), lora / "adapter")}
        for name, model in models.items():
            with torch.no_grad():
                expected = torch.log_softmax(model(ids).logits[0, -1].float(), dim=-1)
            for token, value in served[name].items():
                assert value == pytest.approx(expected[token].item(), abs=0.02)
        changed = [abs(value - served["base"].get(token, math.inf)) for token, value in served["trained"].items()]
        assert max(changed) > 0.1

    def test_the_adapter_gives_verdicts_in_this_process(self, tiny: str, lora: Path):
        judge = ModelJudge(EmbeddedChatGenerator(tiny, 2_048, adapter_path=str(lora / "adapter.gguf"), timeout=300))

        verdict, _ = judge.judge(JUDGED)

        assert verdict.parsed
        assert verdict.judged_by == "model"

    def test_started_again_it_goes_on_from_its_checkpoint(self, tiny: str, data: Path, lora: Path):
        lines: list[str] = []
        settings = FitSettings(tiny, lora=True, lora_rank=4, learning_rate=0.02, batch=2, max_steps=4, reply_tokens=8)

        facts = fit(data, lora, replace(settings, save_steps=2), on_progress=lines.append)

        assert any("Continues from" in line and "checkpoint-3" in line for line in lines)
        assert facts["steps"] == 4
        assert not any("held-out" in line for line in lines)

    def test_other_pairs_a_model_or_a_rate_do_not_go_on(self, folder: Path, tiny: str, data: Path, lora: Path):
        settings = FitSettings(tiny, lora=True, lora_rank=4, learning_rate=0.02, batch=2, max_steps=4, reply_tokens=8)
        other_model = folder / "other" / Path(tiny).name
        other_model.parent.mkdir()
        shutil.copy(tiny, other_model)
        with other_model.open("ab") as file:
            file.write(b"x")

        with pytest.raises(ValueError, match="holds a training with another pairs, held_out: delete it"):
            fit(write_pairs(folder / "other-pairs"), lora, settings)
        with pytest.raises(ValueError, match="holds a training with another model: delete it"):
            fit(data, lora, replace(settings, model=str(other_model)))
        with pytest.raises(ValueError, match="holds a training with another learning_rate: delete it"):
            fit(data, lora, replace(settings, learning_rate=0.01))


class TestUpperLayers:
    @pytest.mark.parametrize("beginning", [(), (5, 6), (5, 7)])
    def test_texts_after_one_prompt_come_out_as_without_it(self, folder: Path, tiny: str, beginning: tuple[int, ...]):
        ids = torch.tensor([[5, 6, 7, 8, 9, 10], [5, 6, 7, 11, 12, 0], [5, 6, 7, 8, 9, 10]])
        mask = torch.tensor([[1] * 6, [1] * 5 + [0], [1] * 6])
        plain, packing = load_model(tiny), load_model(tiny)
        LowerLayers(packing, 1, folder / f"lower-{beginning}", beginning)

        for rows in ((0, 1), (1, 0, 2), (0,), (0, 2)):
            chosen = torch.tensor(rows)
            for _ in range(2):  # computed, then read
                logits = packing(ids[chosen], attention_mask=mask[chosen], use_cache=False).logits
                for place, row in enumerate(rows):
                    expected = plain(ids[row : row + 1, : mask[row].sum()]).logits[0]
                    assert torch.allclose(logits[place, : len(expected)], expected, atol=1e-4)

    def test_the_lower_layers_are_computed_only_once(self, folder: Path, tiny: str):
        model = load_model(tiny)
        LowerLayers(model, 1, folder / "once")
        calls = []
        model.base_model.layers[0].register_forward_hook(lambda *_: calls.append(1))

        for _ in range(3):
            model(torch.tensor([[5, 6, 7], [5, 6, 8]]), use_cache=False).logits.sum().backward()

        assert len(calls) == 1

    def test_a_padded_beginning_and_written_text_use_the_whole_model(self, folder: Path, tiny: str):
        plain, packing = load_model(tiny), load_model(tiny)
        LowerLayers(packing, 1, folder / "whole")
        ids, mask = torch.tensor([[0, 5, 6], [7, 8, 9]]), torch.tensor([[0, 1, 1], [1, 1, 1]])

        for arguments in ({"use_cache": False}, {"use_cache": True}):
            expected = plain(ids, attention_mask=mask, **arguments).logits
            assert torch.equal(packing(ids, attention_mask=mask, **arguments).logits, expected)
        assert not list((folder / "whole").iterdir())

    def test_only_the_upper_layer_gets_a_lora_that_llama_cpp_loads(self, folder: Path, tiny: str):
        from safetensors.numpy import load_file

        settings = FitSettings(tiny, lora=True, lora_rank=4, learning_rate=0.02, batch=2, max_steps=4, upper_layers=1)

        facts = fit(write_pairs(folder / "upper"), folder / "upper-out", settings)

        names = load_file(folder / "upper-out/adapter/adapter_model.safetensors")
        assert names
        assert all(".layers.1." in name for name in names)
        assert len(list((folder / "upper-out/checkpoints/lower_layers").glob("*.pt"))) == facts["pairs"] == 4
        assert "in the upper 1 layers" in (folder / "upper-out/card.md").read_text()
        served = [
            probabilities(EmbeddedChatGenerator(tiny, 2_048, adapter_path=adapter), "Is 0 new?")
            for adapter in (None, str(folder / "upper-out/adapter.gguf"))
        ]
        changed = [abs(value - served[0].get(token, math.inf)) for token, value in served[1].items()]
        assert max(changed) > 0.1

    def test_missing_layers_and_other_settings_are_refused(self, folder: Path, tiny: str):
        with pytest.raises(ValueError, match="upper_layers is 2: the model has 2 layers, so give 1 to 1"):
            LowerLayers(load_model(tiny), 2, folder / "refused")
        with pytest.raises(ValueError, match="upper_layers needs a LoRA"):
            FitSettings(tiny, upper_layers=1)
        with pytest.raises(ValueError, match="upper_layers needs a LoRA"):
            FitSettings(tiny, lora=True, per_device=2, upper_layers=1)


class TestLogitsOfReplies:
    @pytest.mark.parametrize("upper_layers", [None, 1])
    def test_loss_and_gradients_are_those_of_all_logits(
        self, folder: Path, tiny: str, upper_layers: int | None, monkeypatch: pytest.MonkeyPatch
    ):
        from trl.trainer import utils as trainer_utils

        rows = []
        for place, words in enumerate((3, 9)):
            replies = [reply(True), reply(False, "Compared with all that was shown before.")]
            chosen, rejected = ([{"role": "assistant", "content": text}] for text in replies)
            prompt = [{"role": "user", "content": f"Is {place} new? {'word ' * words}"}]
            rows.append({"prompt": prompt, "chosen": chosen, "rejected": rejected})
        settings = FitSettings(tiny, lora=True, lora_rank=4, batch=2, per_device=2, precompute_reference=True)
        model, tokenizer = load_model(tiny), load_tokenizer(tiny)
        if upper_layers is not None:
            settings = replace(settings, per_device=1, upper_layers=upper_layers)
            LowerLayers(model, upper_layers, folder / "logits-lower")
        arguments = _make_arguments(folder / f"logits-{upper_layers}", settings)
        monkeypatch.setattr(trainer_utils, "_use_triton", trainer_utils._use_triton)
        trainer = _make_trainer(model, tokenizer, arguments, rows, settings)
        weights = {name: weight for name, weight in trainer.model.named_parameters() if weight.requires_grad}
        # A LoRA starts as zero, and then half of its gradients are zero, too.
        for weight in weights.values():
            torch.nn.init.normal_(weight, std=0.1)
        counts = []
        computed = trainer_utils._ChunkedLogProbFunction

        class Counted:
            @staticmethod
            def apply(hidden: Any, *others: Any) -> Any:
                counts.append(len(hidden))
                return computed.apply(hidden, *others)

        monkeypatch.setattr(trainer_utils, "_ChunkedLogProbFunction", Counted)
        inputs = next(iter(trainer.get_train_dataloader()))

        results = []
        for replies_only in (True, False):
            if not replies_only:
                monkeypatch.setattr(trainer_utils, "_use_triton", lambda device: False)
            trainer.model.zero_grad()
            reference = torch.stack(trainer.compute_ref_log_probs(trainer.model, inputs))
            loss = trainer.compute_loss(trainer.model, inputs)
            loss.backward()
            gradients = {name: weight.grad.clone() for name, weight in weights.items()}
            results.append((reference, loss.detach(), gradients))

        (reference, loss, gradients), (all_reference, all_loss, all_gradients) = results
        assert torch.allclose(reference, all_reference, atol=1e-3)
        assert torch.allclose(loss, all_loss, atol=1e-5)
        assert abs(loss - math.log(2)) > 1e-4
        for name, gradient in gradients.items():
            assert gradient.abs().max() > 0
            assert torch.allclose(gradient, all_gradients[name], rtol=1e-2, atol=1e-5), name
        of_replies = int(inputs["completion_mask"].sum())
        of_all = inputs["input_ids"][:, 1:].numel()
        assert counts == [of_replies, of_replies, of_all, of_all]
        assert of_replies < of_all

    def test_log_probabilities_are_those_of_all_logits(self, tiny: str):
        model, tokenizer = load_model(tiny), load_tokenizer(tiny)
        step = {"prompt": [{"role": "user", "content": "Is anything new?"}]}
        replies = [reply(True), reply(False, "Compared with all that was shown before.")]

        measured = log_probabilities(model, tokenizer, step, replies)

        prompt = tokenize_prompt(tokenizer, step)
        for text, value in zip(replies, measured, strict=True):
            written = tokenizer(text, add_special_tokens=False)["input_ids"]
            with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
                logits = model(torch.tensor([prompt + written])).logits[0, len(prompt) - 1 : -1]
            of_tokens = torch.log_softmax(logits.float(), dim=-1)[range(len(written)), written]
            assert value == pytest.approx(float(of_tokens.sum()), rel=0.01)


class TestAllWeights:
    def test_moves_the_weights_and_leaves_the_reference_alone(self, folder: Path, tiny: str):
        facts = fit(
            write_pairs(folder / "full"), folder / "full-out", FitSettings(tiny, batch=1, max_steps=3, log_steps=1)
        )

        # At the first step the model is its own reference.
        log = json.loads(next((folder / "full-out/checkpoints").glob("*-3/trainer_state.json")).read_text())[
            "log_history"
        ]
        assert log[0]["loss"] == pytest.approx(math.log(2), abs=0.01)
        base, trained = load_model(tiny), load_model(str(folder / "full-out/model"))
        assert facts["learning_rate"] == 5e-7
        pairs = [(a, b) for a, b in zip(base.parameters(), trained.parameters(), strict=True) if a.dim() == 2]
        moved = torch.cat([(a != b).flatten() for a, b in pairs[1:]]).float().mean()
        assert moved > 0.5
        assert all(b.dtype == torch.float32 for _, b in pairs)

    def test_bfloat16_weights_are_refused_at_the_papers_rate(self, folder: Path, tiny: str):
        with pytest.raises(ValueError, match="would change only .*% of the weights.* because they are bfloat16"):
            fit(write_pairs(folder / "coarse"), folder / "coarse-out", FitSettings(tiny, batch=1, weights="bfloat16"))


def test_a_pair_that_is_too_long_is_an_error_and_none_is_dropped(folder: Path, tiny: str):
    long = write_pairs(folder / "long", words=300)

    with pytest.raises(ValueError, match=r"8 of 8 replies with their prompts are longer than 200 tokens"):
        fit(long, folder / "long-out", FitSettings(tiny, max_length=200))


def test_the_trainer_keeps_the_prompts_that_llama_cpp_serves(tiny: str, data: Path):
    from transformers import PretrainedConfig

    rows, tokenizer = read_lines(data / PAIRS), load_tokenizer(tiny)

    check_lengths(rows, tokenizer, PretrainedConfig(), None)

    generator = EmbeddedChatGenerator(tiny, context_window=2_048, timeout=300)
    for row in rows[:2]:
        served = render(generator, row["prompt"])
        assert tokenizer.decode(tokenize_prompt(tokenizer, row)) == served["prompt"]
        assert tokenize_prompt(tokenizer, row) == served["tokens"]


def render(generator: EmbeddedChatGenerator, messages: list[dict[str, str]]) -> dict[str, Any]:
    """The prompt that llama.cpp makes from messages, with the model's chat template as llama.cpp reads it."""
    import urllib.request

    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(generator.model_path)
    parameters.n_ctx, parameters.n_gpu_layers, parameters.warmup, parameters.verbosity = 256, 0, False, -1
    server = xllamacpp.Server(parameters)

    def post(path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            f"{server.listening_address}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    prompt = post("/apply-template", {"messages": messages})["prompt"]
    return {"prompt": prompt, "tokens": post("/tokenize", {"content": prompt, "parse_special": True})["tokens"]}


@pytest.mark.parametrize(("file", "devices"), [("one_gpu.yaml", 1), ("eight_gpus.yaml", 8)])
def test_accelerate_reads_the_settings_of_one_and_of_eight_gpus(file: str, devices: int):
    from accelerate.commands.config.config_args import load_config_from_file

    settings = load_config_from_file(str(Path(judge_dpo.__file__).parent / file))

    assert (settings.num_processes, settings.mixed_precision) == (devices, "bf16")
    assert devices == 1 or settings.fsdp_config["fsdp_state_dict_type"] == "FULL_STATE_DICT"


def test_two_processes_save_the_same_float32_weights_as_one(folder: Path, tiny: str):
    from accelerate.commands.config.config_args import load_config_from_file

    base, tokenizer = load_model(tiny), load_tokenizer(tiny)
    for part in (base, tokenizer):
        part.save_pretrained(folder / "base")
    data = write_pairs(folder / "shared")
    shipped = load_config_from_file(str(Path(judge_dpo.__file__).parent / "eight_gpus.yaml")).fsdp_config
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = {name.upper(): str(value) for name, value in shipped.items()} | {
        **{"ACCELERATE_USE_FSDP": "true", "ACCELERATE_USE_CPU": "true", "WORLD_SIZE": "2"},
        **{"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)},
    }
    both = [
        subprocess.Popen(
            [sys.executable, Path(__file__).with_name("one_of_two.py"), folder / "base", data, folder / "shared-out"],
            env={**os.environ, **variables, "RANK": rank, "LOCAL_RANK": rank},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in "01"
    ]
    try:
        said = [process.communicate(timeout=400)[0] for process in both]
    finally:
        for process in both:
            process.kill()
    assert all("2 devices" in output for output in said), said[0][-2_000:]
    fit(data, folder / "alone-out", FitSettings(str(folder / "base"), batch=2, max_steps=3))

    def moved(output: str) -> Any:
        saved = load_model(str(folder / output / "model"))
        assert all(weight.dtype == torch.float32 for weight in saved.parameters())
        pairs = zip(saved.parameters(), base.parameters(), strict=True)
        return torch.cat([(after - before).flatten() for after, before in pairs])

    # After rounding to 16 bits, the change of three small steps has a cosine of only 0.01 to the exact change.
    assert torch.nn.functional.cosine_similarity(moved("shared-out"), moved("alone-out"), dim=0) > 0.95


def test_a_batch_that_the_devices_cannot_divide_is_refused(folder: Path, tiny: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WORLD_SIZE", "3")

    with pytest.raises(ValueError, match="A batch of 8 cannot be divided among 3 devices"):
        fit(write_pairs(folder / "three"), folder / "three-out", FitSettings(tiny))


def test_an_adapter_of_an_unknown_model_is_left_to_llama_cpp(folder: Path):
    from transformers import PretrainedConfig

    with pytest.raises(UnknownArchitecture, match="convert_lora_to_gguf.py"):
        write_gguf_adapter(folder, PretrainedConfig(model_type="glm4"), folder / "x.gguf")
