"""Serves yaml_pipelines/dr_rag_qdc.yaml: two stages of retrieval and one call to the model."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "dr_rag_qdc"
