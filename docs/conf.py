"""How the site is built: `make docs`. Nothing is fetched, neither while it is built nor while it is read."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

import dalembert  # noqa: E402  that of this folder, installed or not

project = "Dalembert"
author = "the Dalembert developers"
copyright = "the Dalembert developers, Apache-2.0"
release = dalembert.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "dalembert_site.mathml",
    "dalembert_site.formulas",
    "dalembert_site.api",
    "dalembert_site.pages",
    "dalembert_site.live",
]
root_doc = "index"
exclude_patterns = ["_build", "_ext", "_static"]

myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

highlight_language = "none"  # what is indented is a formula or a listing
pygments_style = "friendly"
nitpicky = True
suppress_warnings = ["misc.highlighting_failure"]  # examples that are not run may contain "…"

autodoc_typehints = "none"  # nearly all arguments are what NumPy takes; docstrings say shapes and units
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries = False
add_module_names = False

html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_title = "Dalembert"
html_static_path = ["_static"]
html_css_files = ["dalembert.css"]
html_js_files = ["live.js"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "Dalembert"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "navigation_depth": 2,
    "show_nav_level": 1,
}
