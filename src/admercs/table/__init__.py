"""The table: columns and their kinds, raw values, bin codes."""
