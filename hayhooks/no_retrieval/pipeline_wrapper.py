"""Serves yaml_pipelines/no_retrieval.yaml: the model alone, in one call."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "no_retrieval"
