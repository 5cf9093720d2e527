"""Tests of the HTML pages of reports."""
