"""Parallel forms: the same items in other words, every rewrite with the rule that made it."""
