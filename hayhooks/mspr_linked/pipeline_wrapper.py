"""Serves yaml_pipelines/mspr_linked.yaml: MSPR with linked retrieval."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "mspr_linked"
