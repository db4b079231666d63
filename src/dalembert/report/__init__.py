"""The report: a robot's description and all that follows from it, as one page of HTML that needs nothing else."""

from dalembert.report.page import Report, Written, write_report
from dalembert.report.sections import NAMES

__all__ = ["NAMES", "Report", "Written", "write_report"]
