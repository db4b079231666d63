"""Notebooks: what results look like there, and a robot that turns under the mouse."""

from dalembert.apps.notebook.displays import html_of, page_of
from dalembert.apps.notebook.robot_scene import show
from dalembert.apps.notebook.widget import view

__all__ = ["html_of", "page_of", "show", "view"]
