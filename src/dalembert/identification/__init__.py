"""From logs of a real arm to parameters that can be trusted."""
