"""Serves yaml_pipelines/no_retrieval.yaml: the model alone, in one call."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "no_retrieval"
