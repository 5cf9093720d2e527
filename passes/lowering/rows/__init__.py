"""Work on rows along the free axis: softmax and normalisations."""
