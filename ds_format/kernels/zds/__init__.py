"""Collections of ZDS: lines of JSON, and the index of their ids.

zdx              the index: ids → positions of lines
zdx_text         the index as text
lines            documents → lines of JSON; lines of JSON → such an index
document_fetch   id → document, read from an open file

Declarations: `entries` (entries of an index, and the rule for ids), `hash_id`.
"""
