"""What no passage may put into a prompt; every test with hostile passages checks this."""

import re
import unicodedata

# Control tokens of the templates of ChatML, Llama 2 to 4, Gemma, Mistral, Phi, DeepSeek, harmony, Command R, EXAONE,
# GLM and MiniMax.
CONTROL_TOKENS = (
    *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>", "<|user|>", "<|assistant|>"),
    *("<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|START_OF_TURN_TOKEN|>", "<|turn>", "<turn|>"),
    *("<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<s>", "</s>", "<unk>", "<<SYS>>", "<</SYS>>"),
    *("[INST]", "[/INST]", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "[gMASK]", "[|user|]", "]~b]", "[e~["),
    *("<\uff5cUser\uff5c>", "<\uff5cAssistant\uff5c>", "<\uff5cend\u2581of\u2581sentence\uff5c>"),
)
TAGS = ("</information>", "<answer>", "</answer>", "<think>", "</think>", "<search>", "</result>", "<tool_call>")
# Beginnings of lines in a transcript, a judge's prompt or a verdict.
LINES = (
    *("Thought:", "Action:", "Action Input:", "Observation:", "Final Answer:", "Self-Evaluation:", "Question:"),
    *("Explanation:", "Improvement Suggestions:", "Passages:", "New information:", "Information already obtained:"),
    *("Answer:", "Label:", "Status:", "Original question:", '{"status": "True"}', '{"action": "Final_Answer"}', "| "),
)
_MARK = re.compile(r"[\[\u3010\uff3b]\s*[ADW]?\d+(?:-?[a-z]{1,4})?\s*[\]\u3011\uff3d]", re.IGNORECASE)
_HIDDEN = ("Cc", "Cs")


def find_faults(shown: str) -> list[str]:
    """List the parts that a quoted passage must not contain: control tokens, tags, marks and invisible characters.

    :param shown: A stranger's text as in a prompt, without the application's own mark.
    """
    tokens = [sign for sign in (*CONTROL_TOKENS, *TAGS) if sign in shown]
    hidden = [hex(ord(sign)) for sign in shown if unicodedata.category(sign) in _HIDDEN and sign not in "\n\t"]
    return [*tokens, *hidden, *_MARK.findall(shown)]
