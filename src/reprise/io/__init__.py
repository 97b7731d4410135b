"""Files, arrays in files, and errors."""
