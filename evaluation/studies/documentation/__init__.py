"""Documentation that packages ship, as somebody's own files, and how often the judge leaves them without need."""
