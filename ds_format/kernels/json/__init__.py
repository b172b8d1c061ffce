"""JSON (RFC 8259).

check    checks of lines of JSON, with the position of their `_id`
values   Python values → JSON, always the same bytes
decode   JSON → Python values
arrays   JSON of a dataset → arrays

Declarations: `scan` (state and result of a check), `loop` (the grammar), `text` and `unescape` (strings), `numbers`.
"""
