"""Serves yaml_pipelines/dr_rag_linked.yaml: DR-RAG over words and titles, by the best pairs."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "dr_rag_linked"
