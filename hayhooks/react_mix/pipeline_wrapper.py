"""Serves yaml_pipelines/react_mix.yaml: an agent whose searches go to both sources."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "react_mix"
