"""A store of runs as one HTML page that can be mailed: read, group, measure, render.

The page holds its own styles, scripts and data, and asks for nothing from any network.
"""

from dnatrace.report.page import Report as Report
from dnatrace.report.page import write_report as write_report
