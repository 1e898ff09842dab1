"""Serves yaml_pipelines/mspr_linked.yaml: MSPR with linked retrieval."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "mspr_linked"
