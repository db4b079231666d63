"""A doctor for models: what is wrong with a robot's description, why it matters, and what to do about it."""

from dalembert.trust.doctor.checkup import CheckUp, Repair, check
from dalembert.trust.doctor.finding import RULES, Finding, Rule
from dalembert.trust.doctor.folder import check_all

__all__ = ["RULES", "CheckUp", "Finding", "Repair", "Rule", "check", "check_all"]
