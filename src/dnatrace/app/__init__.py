"""The live page: a local server that runs what a browser asks for and shows it day by day.

`door` is what a browser reaches, `desk` answers it, `studies` keeps what was asked, `workers` are
the processes that do the runs. The page itself, in `static/`, is plain HTML, CSS and JavaScript
modules; its charts are those of the report.
"""
