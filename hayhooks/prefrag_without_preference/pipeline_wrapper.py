"""Serves yaml_pipelines/prefrag_without_preference.yaml: the model names the source."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "prefrag_without_preference"
