"""How a reasoner replies: each format turns one reply into one :class:`~components.state.Step`."""

from components.reply_formats.fields import Tool, read_label
from components.reply_formats.guided_format import GuidedFormat
from components.reply_formats.json_format import JsonFormat
from components.reply_formats.reply_format import ReplyFormat, Turn
from components.reply_formats.tags_format import Tags, TagsFormat
from components.reply_formats.text_format import TextFormat
from components.reply_formats.tools_format import ToolsFormat

FORMATS: dict[str, type[ReplyFormat]] = {
    "text": TextFormat,
    "json": JsonFormat,
    "guided": GuidedFormat,
    "tools": ToolsFormat,
    "tags": TagsFormat,
}

__all__ = [
    "FORMATS",
    "GuidedFormat",
    "JsonFormat",
    "ReplyFormat",
    "Tags",
    "TagsFormat",
    "TextFormat",
    "Tool",
    "ToolsFormat",
    "Turn",
    "read_label",
]
