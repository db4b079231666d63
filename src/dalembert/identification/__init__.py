"""From logs of a real arm to parameters that can be trusted.

log          a file → columns → units → times → filter → samples
fit          samples → parameters, with what they are worth
excitation   the motion from which they are identified best
calibration  geometry from measured tips
contacts     contacts: which link, when, and the force
handover     `identify_log`: from a log to an identified robot in a file
"""

from dalembert.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__)
