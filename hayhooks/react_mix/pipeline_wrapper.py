"""Serves yaml_pipelines/react_mix.yaml: an agent whose searches go to both sources."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "react_mix"
