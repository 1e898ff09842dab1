"""Serves yaml_pipelines/vanilla_mix.yaml: your own documents and the web at once, one call."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "vanilla_mix"
