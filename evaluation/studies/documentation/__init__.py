"""Documentation shipped by packages, as a user's own files, and how often the judge leaves them without need."""
