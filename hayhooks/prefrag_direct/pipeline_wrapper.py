"""Serves yaml_pipelines/prefrag_direct.yaml: the preference only in words."""

from service.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`~service.wrapper.ServedPipeline`."""

    name = "prefrag_direct"
