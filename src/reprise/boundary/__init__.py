"""Where reprise meets the world outside: files, arrays in files, errors, installed packages."""
