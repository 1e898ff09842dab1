"""The prompts, and the code that checks and renders them."""
