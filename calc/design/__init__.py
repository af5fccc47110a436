"""Models that are edited: a plain table, edits of it, many at once, and files to take along."""
