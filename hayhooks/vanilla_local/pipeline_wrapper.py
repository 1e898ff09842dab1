"""Serves yaml_pipelines/vanilla_local.yaml: your own documents, one retrieval and one call."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "vanilla_local"
