"""Parallel forms: the same items in other words, each with the rule that rewrote it."""
