"""Serves yaml_pipelines/dr_rag_cis.yaml: DR-RAG that drops what a classifier finds redundant."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "dr_rag_cis"
