"""A doctor for models: what is wrong with a robot's description, why it matters, and what to do about it."""

from dalembert.doctor.checkup import CheckUp, Repair, check
from dalembert.doctor.finding import RULES, Finding, Rule
from dalembert.doctor.folder import check_all

__all__ = ["RULES", "CheckUp", "Finding", "Repair", "Rule", "check", "check_all"]
