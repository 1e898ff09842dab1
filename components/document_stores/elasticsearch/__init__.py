"""What Elasticsearch needs beside its own integration."""
