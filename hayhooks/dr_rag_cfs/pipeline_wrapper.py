"""Serves yaml_pipelines/dr_rag_cfs.yaml: DR-RAG that adds what a classifier finds needed."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "dr_rag_cfs"
