"""Tables of text: CSV and TSV.

cells      lines → the types of columns, and their values
lines      values → lines

Declarations:

rows       bytes → cells
numbers    text of a cell → a number
texts      cells of text → Python strings
"""
