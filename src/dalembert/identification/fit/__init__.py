"""From samples to parameters, with what they are worth."""
