"""Judges: whatever comments on an answer beside a rule.

A judge procedure is a coroutine that asks models by role.
"""
