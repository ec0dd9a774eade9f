"""VALOR: how generated and annotated features are counted."""
