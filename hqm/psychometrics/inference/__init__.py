"""Inference: bootstrap, jackknife, significance tests, families of respondents."""
