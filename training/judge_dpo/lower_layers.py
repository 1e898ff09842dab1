"""Train only the upper layers of a model, and compute the layers below them only once.

A LoRA of the upper layers does not change what the lower layers compute. So their output is computed once for each pair
of replies and kept in a file. The two replies follow the same prompt, so the prompt is computed once for both. And all
prompts begin with the same instructions, which the lower layers read only once. This makes it possible to train a model
of 1.5 billion parameters without a GPU.
"""

import copy
import hashlib
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch
from transformers import DynamicCache, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPast

# The architectures whose layers are called as `LowerLayers` calls them.
_ARCHITECTURES = ("llama", "mistral", "qwen2", "qwen3")


def shared_beginning(texts: Iterable[list[int]]) -> list[int]:
    """Find the tokens with which all texts begin.

    :param texts: The tokens of each text, at least one.
    :returns: The longest common beginning.
    """
    ordered = sorted(texts)
    pairs = zip(ordered[0], ordered[-1], strict=False)
    return [token for token, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]


class LowerLayers:
    """Runs a model's layers on texts with a common beginning, and remembers the output of the lower layers.

    :param model: The causal language model. From now on, its calls with ``use_cache=False`` run here.
    :param upper_layers: How many layers, counted from the output of the model, are run each time.
    :param folder: The folder of the outputs of the lower layers.
    :param beginning: The tokens with which most texts begin. The lower layers read them only once.
    :raises ValueError: If the model has not so many layers, or if it is of an unknown kind.
    """

    def __init__(self, model: PreTrainedModel, upper_layers: int, folder: Path, beginning: Sequence[int] = ()):
        config = model.config
        layers = config.num_hidden_layers
        if not 1 <= upper_layers < layers:
            raise ValueError(
                f"upper_layers is {upper_layers}: the model has {layers} layers, so give 1 to {layers - 1}."
            )
        is_plain = config.model_type in _ARCHITECTURES and getattr(config, "sliding_window", None) is None
        if not is_plain or getattr(config, "_attn_implementation", None) != "sdpa":
            raise ValueError(
                f"upper_layers does not know models of the type {config.model_type} with sliding windows or other "
                "attention than sdpa: leave upper_layers out."
            )
        self._backbone = model.base_model
        self._count = layers - upper_layers
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True)
        self._beginning = list(beginning)
        # What the lower layers have computed of the beginning: their output, and the keys and values of attention.
        self._read: tuple[torch.Tensor, DynamicCache] | None = None
        self._run_as_before = self._backbone.forward
        self._backbone.forward = self._run

    def _run(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        use_cache: bool | None = None,
        **others: object,
    ) -> BaseModelOutputWithPast:
        """Return the last hidden states of texts, as the model does. Texts may be padded at their ends."""
        starts_padded = attention_mask is not None and not bool(attention_mask[:, 0].all())
        if input_ids is None or starts_padded or use_cache is not False:
            return self._run_as_before(
                input_ids=input_ids, attention_mask=attention_mask, use_cache=use_cache, **others
            )

        # The texts are laid one behind the other: the first as a whole, of the others only what follows the common
        # beginning. The mask lets each token see the common beginning and its own text. Padding needs no mask, because
        # no token sees what follows it.
        n_texts, length = input_ids.shape
        shared = int((input_ids == input_ids[0]).all(dim=0).long().cumprod(dim=0).sum())
        # The number of tokens that each text has behind the common beginning. It is 0 if all texts are equal.
        own_length = length - shared
        packed = torch.cat([input_ids[0], input_ids[1:, shared:].flatten()])[None]
        places = torch.arange(length, device=input_ids.device)
        positions = torch.cat([places, places[shared:].repeat(n_texts - 1)])[None]
        mask = torch.zeros(packed.shape[1], packed.shape[1], dtype=torch.bool, device=input_ids.device)
        mask[:length, :length] = torch.ones(length, length, dtype=torch.bool, device=input_ids.device).tril()
        for begin in range(length, packed.shape[1], max(own_length, 1)):
            mask[begin : begin + own_length, :shared] = True
            mask[begin : begin + own_length, begin : begin + own_length] = mask[:own_length, :own_length]

        backbone = self._backbone
        embedded = backbone.embed_tokens(packed)
        arguments = {
            "attention_mask": mask[None, None],
            "position_ids": positions,
            "position_embeddings": backbone.rotary_emb(embedded, positions),
            "use_cache": False,
        }
        hidden = self._compute_lower(packed, shared, embedded, arguments)
        for layer in backbone.layers[self._count :]:
            hidden = layer(hidden, **arguments)
        hidden = backbone.norm(hidden)[0]

        beginning = hidden[:shared]
        texts = [hidden[:length]]
        for begin in range(length, packed.shape[1], max(own_length, 1)):
            texts.append(torch.cat([beginning, hidden[begin : begin + own_length]]))
        # Texts that are equal were laid out only once.
        texts += [hidden[:length]] * (n_texts - len(texts))
        return BaseModelOutputWithPast(last_hidden_state=torch.stack(texts))

    @torch.no_grad()
    def _compute_lower(
        self, packed: torch.Tensor, shared: int, embedded: torch.Tensor, arguments: dict[str, object]
    ) -> torch.Tensor:
        """Compute the output of the lower layers, or read it from its file."""
        digest = hashlib.sha256(repr((packed.tolist(), shared, self._count)).encode()).hexdigest()
        file = self._folder / f"{digest[:32]}.pt"
        if not file.is_file():
            n_begun = len(self._beginning)
            has_beginning = 0 < n_begun <= shared and packed[0, :n_begun].tolist() == self._beginning
            if has_beginning:
                if self._read is None:
                    cache = DynamicCache()
                    self._read = self._run_lower(embedded[:, :n_begun], arguments, 0, cache), cache
                # The layers add to the cache, so the texts of each call get a copy of what the beginning left there.
                output, cache = copy.deepcopy(self._read)
                further_output = self._run_lower(embedded[:, n_begun:], arguments, n_begun, cache)
                hidden = torch.cat([output, further_output], dim=1)
            else:
                hidden = self._run_lower(embedded, arguments, 0)
            unfinished = file.with_suffix(".part")
            torch.save(hidden.cpu(), unfinished)
            unfinished.replace(file)
        read: torch.Tensor = torch.load(file, map_location=embedded.device)
        return read

    def _run_lower(
        self, embedded: torch.Tensor, arguments: dict[str, Any], begin: int, cache: DynamicCache | None = None
    ) -> torch.Tensor:
        """Run the lower layers on tokens. ``begin`` says how many tokens before them are in the cache."""
        tokens = slice(begin, begin + embedded.shape[1])
        cos, sin = arguments["position_embeddings"]
        hidden = embedded
        for layer in self._backbone.layers[: self._count]:
            hidden = layer(
                hidden,
                attention_mask=arguments["attention_mask"][..., tokens, : tokens.stop],
                position_ids=arguments["position_ids"][:, tokens],
                position_embeddings=(cos[:, tokens], sin[:, tokens]),
                cache=cache,
                use_cache=cache is not None,
            )
        return hidden
