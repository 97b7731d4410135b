"""The files in which old policies come."""
