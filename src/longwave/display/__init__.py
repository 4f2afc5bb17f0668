"""How values look in a notebook: HTML, with drawings as inline SVG. Leans on nothing but numpy.

Each function takes a value and returns a piece of HTML. The classes call them from `_repr_html_`, so this room knows
their fields and not their modules. All text is escaped: an id may be `<script>`.
"""

from longwave.display.figures import curve_svg, points_svg
from longwave.display.tables import escape, facts_table, readable, table
from longwave.display.values import explanation_html, filter_html, hits_html, index_html, pictures_html, spectrum_html

__all__ = [
    "hits_html", "filter_html", "spectrum_html", "explanation_html", "index_html", "pictures_html",
    "table", "facts_table", "escape", "readable", "curve_svg", "points_svg",
]  # fmt: skip
