"""Shapes: drawn scenes, the questions about them, and the tiny models that answer."""
