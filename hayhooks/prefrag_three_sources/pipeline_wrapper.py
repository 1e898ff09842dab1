"""Serves yaml_pipelines/prefrag_three_sources.yaml."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "prefrag_three_sources"
