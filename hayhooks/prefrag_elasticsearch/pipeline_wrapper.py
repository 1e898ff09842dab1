"""Serves yaml_pipelines/prefrag_elasticsearch.yaml."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "prefrag_elasticsearch"
