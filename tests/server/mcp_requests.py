"""A call of the tool over MCP."""

QUESTION = "In which year did the yard that built alpha win the prize?"
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "prefrag", "arguments": {"question": QUESTION}},
}
