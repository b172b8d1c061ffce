"""JSON (RFC 8259).

check    whether lines are JSON, and where their `_id` is
values   Python values → JSON, always the same bytes
decode   JSON → Python values

Declarations: `scan` (what is found), `loop` (the grammar), `text` and `unescape` (texts and numbers).
"""
