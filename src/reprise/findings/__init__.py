"""From folders to tidy tables."""
