"""Receive questions and send answers over REST, the OpenAI chat protocol, and MCP."""
