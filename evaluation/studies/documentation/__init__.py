"""Documentation that packages ship, as somebody's own files: how often does the judge leave them without need?"""
