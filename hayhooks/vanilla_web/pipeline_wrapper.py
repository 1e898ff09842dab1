"""Serves yaml_pipelines/vanilla_web.yaml: the web, one retrieval and one call."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "vanilla_web"
