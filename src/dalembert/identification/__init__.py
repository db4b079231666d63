"""From logs of a real arm to parameters that can be trusted."""

from dalembert.identification.calibrate import calibrate
from dalembert.identification.excite import excite
from dalembert.identification.first_look import inspect_log
from dalembert.identification.identify import Identification, identify
from dalembert.identification.locked import locked
from dalembert.identification.payload import identify_payload
from dalembert.identification.prepare import prepare
from dalembert.identification.read import read_log
from dalembert.identification.samples import Log, Samples

__all__ = [
    "Identification",
    "Log",
    "Samples",
    "calibrate",
    "excite",
    "identify",
    "identify_payload",
    "inspect_log",
    "locked",
    "prepare",
    "read_log",
]
