"""List operators that cannot be imported, with reasons."""

from neuronir.frontends.torch.registry import BY_DATA, REFUSED

REFUSED.update(
    {
        "_local_scalar_dense": "a number that data gives is used by Python (.item())",
        "item": "a number that data gives is used by Python (.item())",
        "masked_select": BY_DATA,
        "unique_dim": BY_DATA,
        "_unique2": BY_DATA,
        "unique_consecutive": BY_DATA,
        "histc": "histograms are not supported",
    }
)
for _name in ("_fft_r2c", "_fft_c2r", "_fft_c2c", "view_as_real", "view_as_complex", "complex"):
    REFUSED[_name] = "NeuronCores have no complex numbers"
