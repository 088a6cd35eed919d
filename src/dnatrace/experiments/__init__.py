"""From configurations to runs, from runs to tables, figures and reports."""
