"""Serves yaml_pipelines/prefrag_three_sources.yaml."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "prefrag_three_sources"
