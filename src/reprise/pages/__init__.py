"""From tables to pages and pictures."""
