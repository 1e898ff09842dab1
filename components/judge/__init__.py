"""The judge: are the preferred source's passages worth keeping?"""
