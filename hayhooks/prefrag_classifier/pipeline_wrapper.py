"""Serves yaml_pipelines/prefrag_classifier.yaml: PrefRAG with small trees as its judge."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "prefrag_classifier"
