"""Package documentation as a user's own files, and how often the judge needlessly leaves them for the web."""
