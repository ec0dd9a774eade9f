"""What an author decides with an audit, how much is enough: designs, when to stop, short forms."""
