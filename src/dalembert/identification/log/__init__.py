"""From a recorded file to samples that a regressor can use."""
