"""Serves yaml_pipelines/prefrag_linked.yaml: PrefRAG with linked retrieval."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "prefrag_linked"
