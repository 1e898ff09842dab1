"""Serves yaml_pipelines/prefrag_without_reflection.yaml: the first answer is final."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "prefrag_without_reflection"
