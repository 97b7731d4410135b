"""The loop: act, learn, store, evaluate."""
