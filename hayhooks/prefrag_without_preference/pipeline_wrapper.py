"""Serves yaml_pipelines/prefrag_without_preference.yaml: the model names the source."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "prefrag_without_preference"
