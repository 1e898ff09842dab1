"""Package documentation as a user's own files, and how often the judge leaves them needlessly for the web."""
