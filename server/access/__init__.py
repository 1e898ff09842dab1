"""Decide what a request may do and how much of the server it may use: API keys, the page's token, and limits."""
