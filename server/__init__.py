"""The web application that serves the pipelines: Hayhooks, protected by API keys and limits."""
