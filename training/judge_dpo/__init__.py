"""Train the judge's model by direct preference optimisation (sections 3.4 and 3.5, appendix C of PrefRAG).

The model learns from pairs of replies: one with the right verdict, which it should prefer, and one with the wrong
verdict.
"""
