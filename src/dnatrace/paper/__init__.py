"""The paper's results, reproduced and judged."""
