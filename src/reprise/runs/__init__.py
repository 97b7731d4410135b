"""One run in one folder."""
