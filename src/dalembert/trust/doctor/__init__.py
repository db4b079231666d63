"""A doctor for models: what is wrong with a robot's description, why it matters, and what to do about it."""

from dalembert.findings import Finding, Rule
from dalembert.trust.doctor.check import Repair, check, check_all, repair
from dalembert.trust.doctor.document import RULES

__all__ = ["RULES", "Finding", "Repair", "Rule", "check", "check_all", "repair"]
