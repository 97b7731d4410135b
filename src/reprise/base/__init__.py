"""What everything stands on: files, arrays in files, errors, and what is installed."""
