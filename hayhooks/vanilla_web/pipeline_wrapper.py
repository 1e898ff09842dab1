"""Serves yaml_pipelines/vanilla_web.yaml: the web, one retrieval and one call."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "vanilla_web"
