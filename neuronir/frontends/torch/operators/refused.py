"""List operators that cannot be imported, with reasons."""

from neuronir.frontends.torch.registry import REFUSED

_DATA = "the shape of its result depends on data"
REFUSED.update(
    {
        "_local_scalar_dense": "a number that data gives is used by Python (.item())",
        "item": "a number that data gives is used by Python (.item())",
        "masked_select": _DATA,
        "unique_dim": _DATA,
        "_unique2": _DATA,
        "unique_consecutive": _DATA,
        "nonzero_static": _DATA,
        "histc": "histograms are not supported",
    }
)
for _name in ("_fft_r2c", "_fft_c2r", "_fft_c2c", "view_as_real", "view_as_complex", "complex"):
    REFUSED[_name] = "NeuronCores have no complex numbers"
