"""Trust: who may do what and where, positions that somebody vouches for, and sealed messages."""
