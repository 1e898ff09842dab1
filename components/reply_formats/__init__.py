"""How a reasoner replies: each format turns one reply into one :class:`~components.state.Step`."""

from components.reply_formats.fields import Tool, read_label
from components.reply_formats.guided_format import GuidedFormat
from components.reply_formats.json_format import JsonFormat
from components.reply_formats.text_format import TextFormat

FORMATS: dict[str, type[TextFormat] | type[JsonFormat]] = {
    "text": TextFormat,
    "json": JsonFormat,
    "guided": GuidedFormat,
}

__all__ = ["FORMATS", "GuidedFormat", "JsonFormat", "TextFormat", "Tool", "read_label"]
