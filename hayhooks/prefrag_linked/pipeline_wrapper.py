"""Serves yaml_pipelines/prefrag_linked.yaml: PrefRAG with linked retrieval."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "prefrag_linked"
