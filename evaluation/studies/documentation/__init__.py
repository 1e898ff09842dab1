"""How often the judge needlessly leaves a user's own files, here the documentation of packages, for the web."""
