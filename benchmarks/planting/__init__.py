"""What `large.py` is made of."""
