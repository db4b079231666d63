"""The names of the package and where they live: read by type checkers, and by `lazy.open_door` when it is imported."""

from dalembert.actuation.driven import ENERGIES as ENERGIES, LOSSES as LOSSES, DrivenRobot as DrivenRobot
from dalembert.actuation.flexible import FlexibleRobot as FlexibleRobot
from dalembert.actuation.flexible_link import FlexibleLink as FlexibleLink
from dalembert.actuation.gear_effects import gear_report as gear_report
from dalembert.actuation.motors import DCMotor as DCMotor, FluidDrive as FluidDrive, TorqueSource as TorqueSource
from dalembert.actuation.rotors import Rotor as Rotor, with_rotors as with_rotors
from dalembert.actuation.transmission import (
    Gear as Gear,
    Transmission as Transmission,
    differential as differential,
    remote as remote,
)
