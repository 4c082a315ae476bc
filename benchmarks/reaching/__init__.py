"""What `reach.py` is made of."""
