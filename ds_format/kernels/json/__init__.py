"""JSON (RFC 8259).

check    whether lines are JSON, and where their `_id` is
values   Python values → JSON, always the same bytes

Declarations: `scan` (what is found), `loop` (the grammar), `text` and `unescape` (texts and numbers).
"""
