"""Convert values between layouts, types and memories."""
