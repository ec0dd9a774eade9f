"""A reader for each layout of annotations: its files in, scene graphs out."""
