"""The names of the package and where they live: read by type checkers, and by `lazy.open_door` when it is imported."""

from dalembert.identification.calibration.calibrate import calibrate as calibrate
from dalembert.identification.calibration.measurements import (
    Distances as Distances,
    Points as Points,
    Poses as Poses,
    SamePoint as SamePoint,
)
from dalembert.identification.contacts import (
    Contact as Contact,
    ContactDetector as ContactDetector,
    Observation as Observation,
    calibrate_detector as calibrate_detector,
    observe as observe,
)
from dalembert.identification.excitation.design import excite as excite
from dalembert.identification.excitation.limits import HalfSpace as HalfSpace, box as box
from dalembert.identification.fit.estimate import (
    instrumental_variables as instrumental_variables,
    least_squares as least_squares,
    robust_least_squares as robust_least_squares,
)
from dalembert.identification.fit.free_base import FreeBaseFit as FreeBaseFit, identify_free_base as identify_free_base
from dalembert.identification.fit.friction import nonlinear_friction as nonlinear_friction
from dalembert.identification.fit.groupings import groupings as groupings
from dalembert.identification.fit.identify import Identification as Identification, identify as identify
from dalembert.identification.fit.output_error import OutputError as OutputError, output_error as output_error
from dalembert.identification.fit.part_inertia import (
    MATERIALS as MATERIALS,
    Solid as Solid,
    cad as cad,
    pendulum as pendulum,
    tensor as tensor,
    with_parts as with_parts,
)
from dalembert.identification.fit.payload import drive_gains as drive_gains, identify_payload as identify_payload
from dalembert.identification.fit.regression import compress as compress
from dalembert.identification.fit.regressor import Columns as Columns, base as base
from dalembert.identification.handover import Outcome as Outcome, identify_log as identify_log
from dalembert.identification.log.correction import Correction as Correction
from dalembert.identification.log.inspect import Look as Look, first_look as first_look, inspect_log as inspect_log
from dalembert.identification.log.prepare import (
    make_ready as make_ready,
    preparation as preparation,
    prepare as prepare,
)
from dalembert.identification.log.read import RecordedLogs as RecordedLogs, read_log as read_log, read_logs as read_logs
from dalembert.identification.log.samples import Log as Log, Samples as Samples
from dalembert.identification.log.settings import LogSettings as LogSettings
