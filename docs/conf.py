"""The site: ``make docs`` builds it from these pages into build/site, without a network.

The pages are ordinary Markdown, to be read on GitHub as well. What is made at build, by ``_ext``:
pages of every public name and every command, copies of pages and results that live elsewhere in the
repository, and the models of the playground. sphinx-gallery runs ``examples/gallery``.
"""

import sys
from pathlib import Path

import psvm

HERE = Path(__file__).parent
MADE = HERE.parent / "build" / "site-static"  # what _ext/playground.py writes
sys.path.insert(0, str(HERE / "_ext"))

project = "psvm"
author = "The psvm developers"
copyright = author
version = release = psvm.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # MathJax and its fonts beside the pages
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # ours
    "api_pages",
    "command_pages",
    "playground",
    "repository_pages",
    "results",
]
root_doc = "index"
exclude_patterns = ["_ext", "_static", "_templates", "images"]
templates_path = ["_templates"]
smartquotes = False  # "--max-time" has two dashes
html_static_path = ["_static", str(MADE)]

# --- Markdown ------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3  # as GitHub has them
suppress_warnings = ["config.cache"]  # sphinx-gallery's functions cannot be pickled

# --- the API -------------------------------------------------------------------------------------

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # numpydoc's sections have the types
numpydoc_show_class_members = False  # the template lists the methods
numpydoc_class_members_toctree = False

# --- the gallery ---------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("psvm",),
    "reference_url": {"psvm": None},
    "remove_config_comments": True,
    "ignore_repr_types": r"matplotlib|psvm\.plotting",  # "<... object at 0x7f>" under its picture
    "show_memory": False,
    "show_signature": False,
    "image_srcset": ["2x"],
    "thumbnail_size": (520, 190),  # as wide as the pictures are
    "min_reported_time": 10,  # what takes longer says so on its page, and fails a test
    "write_computation_times": False,
    "nested_sections": False,
}

# --- HTML ----------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"psvm {release}"
html_short_title = "psvm"
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}  # light or dark as the reader's system
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "playground": []}
html_theme_options = {
    "logo": {"text": "psvm"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "search_as_you_type": True,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_center": [],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
