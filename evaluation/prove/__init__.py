"""Measure on a person's own folder how often a *Stated* answer is wrong, without labels.

An answer is *Stated* if the program is sure of it. ``prefrag prove`` asks questions that it makes from sentences of the
folder. It asks each question several times: with the sentence, without it, and with a changed sentence. Then it
compares the answers.
"""
