"""Read a pipeline and change its settings.

A variant is a pipeline with a few changed settings and a name. The studies use variants to show what a part of a method
contributes.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from prefrag.errors import BadInput
from prefrag.pipelines.blocks import Block, is_block, parameters_of
from prefrag.pipelines.loading import find, read_block
from prefrag.pipelines.replacing import replace_parts

# The name of each variant, with its pipeline and the settings that are changed in it. Nothing else differs.
VARIANTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "prefrag_observed_last": ("prefrag", ("local.observed_last=true",)),
    "prefrag_linked_observed_any": ("prefrag_linked", ("local.observed_last=false",)),
    # Other methods with the linked source. They show what PrefRAG's loop adds to this source.
    "react_mix_linked": ("react_mix", ("local=@prefrag_linked",)),
    "vanilla_local_linked": ("vanilla_local", ("local=@prefrag_linked",)),
    "vanilla_mix_linked": ("vanilla_mix", ("local=@prefrag_linked",)),
    # The ablations in table II of MSPR. The first has no refiner of observations.
    "mspr_without_ors": ("mspr", ("refiner.enabled=false",)),
    # Without the selection of the source and without the judge.
    "mspr_without_prs": ("mspr", ("selector.enabled=false", "judge.enabled=false")),
    # Without the review of the answer.
    "mspr_without_car": ("mspr", ("reviewer.enabled=false",)),
    # The published code of PrefRAG's authors differs from the paper in four places, and this variant follows the code
    # (pipelines/METHODS.md). The last change follows the code only in part: if the judge's verdict cannot be read, the
    # source is switched in the end.
    "prefrag_published": (
        "prefrag",
        (
            "router.run_last_search=true",
            "router.replies_per_supplement=2",
            "reasoner.reply_format=published",
            "judge.judge.model_judge.on_doubt=switch",
        ),
    ),
    # MSPR's paper gives a number of iterations (AWI) of 5. The pipeline `mspr` reads this as four searches. This
    # variant makes five (pipelines/METHODS.md).
    "mspr_published": ("mspr", ("start.max_steps=5",)),
}
# The end of the names of these variants, and the value of `--experiment` that chooses them.
PUBLISHED = "published"


def find_published(pipeline: str) -> str:
    """Find the variant of a pipeline that follows the published code, for `--experiment published`.

    For example, ``find_published("prefrag")`` returns ``"prefrag_published"``.

    :param pipeline: The name of the pipeline.
    :returns: The name of the variant.
    :raises BadInput: If the pipeline has no such variant.
    """
    name = f"{pipeline}_{PUBLISHED}"
    if name not in VARIANTS:
        published = [variant.removesuffix(f"_{PUBLISHED}") for variant in VARIANTS if variant.endswith(f"_{PUBLISHED}")]
        raise BadInput(
            f"Of {pipeline} no other reading is known: choose from {', '.join(published)}, or name a YAML file."
        )
    return name


def read_pipeline(pipeline: Any, changes: Sequence[str] = ()) -> Block:
    """Read the YAML of a pipeline or variant, with changes, but do not build the pipeline.

    :param pipeline: The name of a pipeline or variant, a YAML file, or a loaded pipeline.
    :param changes: Changes of settings, each of the form PATH=VALUE.
    :returns: The content of the YAML.
    """
    if not isinstance(pipeline, str | Path):
        block = dict(pipeline.to_dict())
    elif str(pipeline) in VARIANTS:
        block = read_pipeline(*VARIANTS[str(pipeline)])
    else:
        block = read_block(find(str(pipeline)))
    return replace_parts(block, dict(map(_read_change, changes))) if changes else block


def _read_change(change: str) -> tuple[str, Any]:
    """Split a change into the path of a setting and its value.

    For example, ``_read_change("start.max_steps=5")`` returns ``("start.max_steps", 5)``. The value "@NAME" copies the
    setting from the pipeline with this name.
    """
    path, equals, value = change.partition("=")
    if not path or not equals:
        raise ValueError(f"'{change}' changes no setting: write PATH=VALUE, such as local.observed_last=true.")
    if value.startswith("@"):
        return path, _read_part(value[1:], path)
    try:
        return path, yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise ValueError(f"The value in '{change}' is not YAML: {error}") from error


def _read_part(pipeline: str, path: str) -> Any:
    """Return the component or setting with this path in another pipeline."""
    part: Any = read_pipeline(pipeline)["components"]
    for name in path.split("."):
        part = parameters_of(part) if is_block(part) else part
        if not isinstance(part, dict) or name not in part:
            raise ValueError(f"The pipeline {pipeline} has no component or setting '{path}' to copy.")
        part = part[name]
    return part
