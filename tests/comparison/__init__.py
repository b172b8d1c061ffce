"""Tests of what compares datasets."""
