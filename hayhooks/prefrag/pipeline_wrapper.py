"""Serves yaml_pipelines/prefrag.yaml: your own documents first, the web when the judge says so."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "prefrag"
