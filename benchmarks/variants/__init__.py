"""Draw ordinary programs at random, and score them like those of the zoo.

`python -m benchmarks.variants FOLDER --seed N` writes programs of the zoo's kinds (attention,
convolutions, norms, recurrences, logits, reductions, movement, look-ups, products, gradients,
optimisers) in random sizes, types and layouts, and scores them. A program that was never looked at
shows what a figure of a named program does not: whether its neighbours are as fast.
"""
