"""How Sphinx builds the site: `make docs`. Every page is plain Markdown that reads without it."""

from pathlib import Path

_VERSION: dict[str, str] = {}
exec((Path(__file__).parents[1] / "src" / "dnatrace" / "_version.py").read_text("utf-8"), _VERSION)

project = "dnatrace"
author = "The dnatrace developers"
project_copyright = author
release = version = _VERSION["__version__"]
language = "en"

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_site", "tools"]
root_doc = "index"
nitpicky = True

# Headings get the anchors that hosting sites give them, so that one link works in both places.
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = [
    "myst.header",  # generated pages of results begin sections where the table of a run does
]

pygments_style = "default"
html_theme = "pydata_sphinx_theme"
html_title = "dnatrace"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
# Excerpts would be fetched, which browsers refuse to pages opened from files; titles suffice.
html_show_search_summary = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "dnatrace"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
