"""The report as one HTML file, with figures by Bokeh (an optional extra)."""
