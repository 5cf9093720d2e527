"""Lower work on rows along the free axis: softmax and norms."""
