"""The report: a robot's description and all that follows from it, as one page of HTML that needs nothing else."""

from dalembert.apps.report.page import NAMES, Page, Written, write_report

__all__ = ["NAMES", "Page", "Written", "write_report"]
