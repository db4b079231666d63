"""A robot as a `Flow`: free, in momenta, under a load, with joints that stick; and its energy books."""
