"""Direct preference optimisation of the judge's model (sections 3.4 and 3.5, appendix C of PrefRAG)."""
