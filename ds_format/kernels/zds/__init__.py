"""Collections of ZDS: lines of JSON, and the index of their ids.

zdx              ids → places of lines, as in an index
zdx_text         the same as text
lines            documents → lines of JSON; lines of JSON → such an index
document_fetch   the document of an id, from an open file

Declarations: `entries` (of an index, and the rule for ids), `hash_id`.
"""
