"""The report: static HTML pages of a run, opened from disk without a server.

``page`` writes them; ``card`` says what is shown of one item, ``comparison`` what of its blueprints, ``contour`` draws
and ``values`` words. The templates escape whatever they are given. A new feature group needs nothing here: rows, units
and tooltips are made from its schema.
"""

from .card import Row
from .page import write_report

__all__ = ["Row", "write_report"]
