"""The formats in which a model can reply.

Each format asks the model for the next step in its own way. It then reads the reply as a :class:`Step`: a search or an
answer.
"""

from prefrag.components.reasoner.reply_formats.cot_format import CotFormat
from prefrag.components.reasoner.reply_formats.fields import Tool as Tool
from prefrag.components.reasoner.reply_formats.fields import read_label as read_label
from prefrag.components.reasoner.reply_formats.json_format import JsonFormat as JsonFormat
from prefrag.components.reasoner.reply_formats.published_text_format import PublishedTextFormat as PublishedTextFormat
from prefrag.components.reasoner.reply_formats.reply_format import ReplyFormat as ReplyFormat
from prefrag.components.reasoner.reply_formats.reply_format import Turn as Turn
from prefrag.components.reasoner.reply_formats.steps_format import StepsFormat
from prefrag.components.reasoner.reply_formats.text_format import TextFormat
from prefrag.components.reasoner.reply_formats.tools_format import ToolsFormat

# The formats, by the names that the Reasoner's setting `reply_format` uses.
FORMATS: dict[str, type[ReplyFormat]] = {
    "text": TextFormat,
    "json": JsonFormat,
    "steps": StepsFormat,
    "tools": ToolsFormat,
    "cot": CotFormat,
    "published": PublishedTextFormat,
}
