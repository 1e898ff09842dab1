"""Serves yaml_pipelines/react.yaml: an agent that picks the source of each search."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "react"
