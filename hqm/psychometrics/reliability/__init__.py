"""Reliability: internal consistency, test-retest, parallel forms, dependability, short forms."""
