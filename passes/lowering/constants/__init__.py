"""Constants that compile time knows: chunks of the weight stream, layer by layer."""
