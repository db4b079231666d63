"""The table of sections, in the order of the page."""

from __future__ import annotations

from dalembert.apps.report.bounds import bounds
from dalembert.apps.report.card import card
from dalembert.apps.report.context import Section
from dalembert.apps.report.equations import equations
from dalembert.apps.report.frames import frames
from dalembert.apps.report.judgments import certificate, findings, properties
from dalembert.apps.report.singular import singular
from dalembert.apps.report.task import task
from dalembert.apps.report.workspace import workspace

SECTIONS = (
    Section("robot", "The robot", card),
    Section("frames", "Frames and Denavit–Hartenberg table", frames),
    Section("equations", "Equations of motion", equations, 15.0),
    Section("workspace", "Workspace and manipulability", workspace),
    Section("singularities", "Singularities", singular),
    Section("properties", "Properties of the dynamics", properties, 10.0),
    Section("bounds", "Certified bounds", bounds, 20.0),
    Section("verification", "Verification certificate", certificate, 20.0),
    Section("task", "A simulated task", task, 20.0),
    Section("findings", "What a check-up of the model found", findings),
)
NAMES = tuple(section.name for section in SECTIONS)
