"""One module per benchmark whose scoring a card cannot say."""
