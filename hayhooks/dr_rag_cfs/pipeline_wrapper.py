"""Serves yaml_pipelines/dr_rag_cfs.yaml: DR-RAG that adds what a classifier finds needed."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "dr_rag_cfs"
