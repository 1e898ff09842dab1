"""Language models, and the calls, prompts and replies that they need."""
