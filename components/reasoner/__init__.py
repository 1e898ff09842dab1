"""The reasoner, and the formats in which its model replies.

The reasoner decides at each step of a run whether to search or to answer.
"""
