"""What drives a robot, and what gives way between drive and link: motors, gears, flexible joints, friction."""

from typing import TYPE_CHECKING

from dalembert.lazy import lazy_names

if TYPE_CHECKING:
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

_NAMES = {
    "driven": ("DrivenRobot", "ENERGIES", "LOSSES"),
    "flexible": ("FlexibleRobot",),
    "flexible_link": ("FlexibleLink",),
    "gear_effects": ("gear_report",),
    "motors": ("DCMotor", "FluidDrive", "TorqueSource"),
    "rotors": ("Rotor", "with_rotors"),
    "transmission": ("Gear", "Transmission", "differential", "remote"),
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
