"""Serves yaml_pipelines/prefrag_classifier.yaml: PrefRAG with small trees as its judge."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "prefrag_classifier"
