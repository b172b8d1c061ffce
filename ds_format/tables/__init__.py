"""Datasets as tables of other programs, and back.

frames    data frames of pandas
"""
