"""Instruments: speed, theory, and the policies that are shipped."""
