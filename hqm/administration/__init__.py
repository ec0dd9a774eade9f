"""Administration: plan what is missing, ask it, store the answers."""
