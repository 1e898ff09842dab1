"""Serves yaml_pipelines/dr_rag_cis.yaml: DR-RAG that drops what a classifier finds redundant."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "dr_rag_cis"
