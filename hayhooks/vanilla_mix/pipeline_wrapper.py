"""Serves yaml_pipelines/vanilla_mix.yaml: your own documents and the web at once, one call."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "vanilla_mix"
