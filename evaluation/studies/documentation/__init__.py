"""How often the judge needlessly leaves a user's own files for the web. The files are documentation of packages."""
