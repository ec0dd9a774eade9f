"""Criterion validity: correlation with people, corrected scores, labels, response bias."""
