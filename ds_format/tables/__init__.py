"""Datasets and documents as tables of other programs, and back. Only this room imports pyarrow and DuckDB.

libraries          imports of these, and what is checked of all tables
rows               which variables are columns of one table
columns            variables → columns of Arrow, without a library
fields             columns of pyarrow → metadata and values of variables
frames             datasets ↔ data frames of pandas
arrow              datasets ↔ tables of pyarrow, and all objects with an Arrow stream
joined             many files as a dataset of pyarrow
document_columns   documents → columns of Arrow, with the types that hold all of their values
document_rows      documents ↔ data frames of pandas; rows of any Arrow stream → documents
sql                queries by DuckDB
"""
