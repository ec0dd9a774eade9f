"""Items: statistics, response models, leaks, wrong keys, coverage of types."""
