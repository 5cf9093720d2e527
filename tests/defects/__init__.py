"""The programs of tests/corpus/defects."""
