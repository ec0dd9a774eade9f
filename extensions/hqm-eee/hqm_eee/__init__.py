"""Answers of a store as records of Every Eval Ever, a schema that tools share."""
