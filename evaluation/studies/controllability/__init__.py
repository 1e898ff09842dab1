"""Whether unfavourable web text reaches the prompt despite a company's own documents (PrefRAG, section 5.4)."""
