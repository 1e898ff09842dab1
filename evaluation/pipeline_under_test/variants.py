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

# The name of each variant, with its pipeline and the settings that are changed in it. Nothing else differs. A value of
# the form @NAME is copied from the pipeline NAME.
VARIANTS: dict[str, tuple[str, tuple[str, ...]]] = {
    # With `observed_last`, passages that the run has already shown rank behind new ones. Of the pipelines below, only
    # `prefrag_linked` does this by default.
    "prefrag_observed_last": ("prefrag", ("local.observed_last=true",)),
    "prefrag_linked_observed_any": ("prefrag_linked", ("local.observed_last=false",)),
    # Other methods with the local source of `prefrag_linked`, which follows links between passages. A comparison with
    # `prefrag_linked` shows what PrefRAG's loop adds to this source.
    "react_mix_linked": ("react_mix", ("local=@prefrag_linked",)),
    "vanilla_local_linked": ("vanilla_local", ("local=@prefrag_linked",)),
    "vanilla_mix_linked": ("vanilla_mix", ("local=@prefrag_linked",)),
    # The ablations in table II of MSPR. The first has no refiner of observations.
    "mspr_without_ors": ("mspr", ("refiner.enabled=false",)),
    # Without the selection of the source and without the judge.
    "mspr_without_prs": ("mspr", ("selector.enabled=false", "judge.enabled=false")),
    # Without the review of the answer.
    "mspr_without_car": ("mspr", ("reviewer.enabled=false",)),
    # The published code of PrefRAG's authors differs from the paper in four places (pipelines/METHODS.md). The pipeline
    # `prefrag` follows the paper there, and this variant follows the code.
    "prefrag_published": (
        "prefrag",
        (
            "router.run_last_search=true",
            "router.replies_per_supplement=2",
            "reasoner.reply_format=published",
            # If the judge's verdict cannot be read, the source is switched. This follows the code only in part: before
            # that, the judge is called a second time here.
            "judge.judge.model_judge.on_doubt=switch",
        ),
    ),
    # MSPR's paper says that a run has five iterations. In the pipeline `mspr`, four of them may search, and the fifth
    # has to answer. In this variant all five may search, and a sixth reply answers (pipelines/METHODS.md).
    "mspr_published": ("mspr", ("start.max_steps=5",)),
}
# The end of the names of the last two variants, and the value of `--experiment` that chooses them.
PUBLISHED = "published"


def find_published(pipeline: str) -> str:
    """Find the variant of a pipeline that follows the published code, for `--experiment published`.

    For example, ``find_published("prefrag")`` returns ``"prefrag_published"``.

    :param pipeline: The name of the pipeline.
    :returns: The name of the variant.
    :raises BadInput: If the pipeline has no such variant.
    """
    ending = f"_{PUBLISHED}"
    name = f"{pipeline}{ending}"
    if name not in VARIANTS:
        published = [variant.removesuffix(ending) for variant in VARIANTS if variant.endswith(ending)]
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
        base_pipeline, own_changes = VARIANTS[str(pipeline)]
        block = read_pipeline(base_pipeline, own_changes)
    else:
        block = read_block(find(str(pipeline)))
    if not changes:
        return block
    return replace_parts(block, dict(_read_change(change) for change in changes))


def _read_change(change: str) -> tuple[str, object]:
    """Split a change into the path of a setting and its value.

    For example, ``_read_change("start.max_steps=5")`` returns ``("start.max_steps", 5)``. The value "@NAME" copies the
    setting from the pipeline with this name.
    """
    path, equals, value = change.partition("=")
    if not path or not equals:
        raise ValueError(f"'{change}' changes no setting: write PATH=VALUE, such as local.observed_last=true.")
    if value.startswith("@"):
        return path, _read_part(value.removeprefix("@"), path)
    try:
        return path, yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise ValueError(f"The value in '{change}' is not YAML: {error}") from error


def _read_part(pipeline: str, path: str) -> object:
    """Return the component or setting with this path in another pipeline."""
    part: Any = read_pipeline(pipeline)["components"]
    for name in path.split("."):
        part = parameters_of(part) if is_block(part) else part
        if not isinstance(part, dict) or name not in part:
            raise ValueError(f"The pipeline {pipeline} has no component or setting '{path}' to copy.")
        part = part[name]
    return part
