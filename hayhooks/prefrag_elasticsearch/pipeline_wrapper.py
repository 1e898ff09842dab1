"""Serves yaml_pipelines/prefrag_elasticsearch.yaml."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "prefrag_elasticsearch"
