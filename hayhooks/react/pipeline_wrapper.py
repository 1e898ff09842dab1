"""Serves yaml_pipelines/react.yaml: an agent that picks the source of each search."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "react"
