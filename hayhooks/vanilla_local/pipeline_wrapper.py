"""Serves yaml_pipelines/vanilla_local.yaml: your own documents, one retrieval and one call."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "vanilla_local"
