"""Find the files to index, and convert each file into passages."""
