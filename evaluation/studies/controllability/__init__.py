"""A company's curated documents against an unfavourable web: what reaches the prompt (PrefRAG, section 5.4)."""
