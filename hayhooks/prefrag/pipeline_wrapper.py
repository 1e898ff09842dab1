"""Serves yaml_pipelines/prefrag.yaml: your own documents first, the web when the judge says so."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "prefrag"
