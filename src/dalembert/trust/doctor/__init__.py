"""A doctor for models: what is wrong with a robot's description, why it matters, and what to do about it."""

from dalembert.findings import Finding, Rule
from dalembert.trust.doctor.checkup import CheckUp, Repair, check
from dalembert.trust.doctor.folder import check_all
from dalembert.trust.doctor.rules import RULES

__all__ = ["RULES", "CheckUp", "Finding", "Repair", "Rule", "check", "check_all"]
