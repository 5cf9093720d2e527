"""The programs of ../shared/defects."""
