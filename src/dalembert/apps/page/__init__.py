"""The live page: a robot in one HTML file that simulates it, offline, on a desk or a phone."""

from dalembert.apps.page.page import PANELS, LivePage, write_page

__all__ = ["PANELS", "LivePage", "write_page"]
