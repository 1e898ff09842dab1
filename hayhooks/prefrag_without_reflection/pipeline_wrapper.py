"""Serves yaml_pipelines/prefrag_without_reflection.yaml: the first answer is final."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "prefrag_without_reflection"
