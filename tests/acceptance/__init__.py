"""What the project promises of whole models, tried from the outside."""
