"""The pair classifier of DR-RAG: are two passages needed together?"""
