"""What each NeuronCore instruction computes, in numpy."""
