"""Serves yaml_pipelines/prefrag_direct.yaml: the preference only in words."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "prefrag_direct"
