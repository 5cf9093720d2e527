"""List the Apache MXNet operators that neuron-cc compiled. MXNet models cannot be imported."""

OPERATORS = tuple(
    """
    __add_scalar__ __div_scalar__ __mul_scalar__ __pow_scalar__ __rdiv_scalar__ __rpow_scalar__
    __rsub_scalar__ __sub_scalar__ _arange _contrib_arange_like _contrib_div_sqrt_dim
    _contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt
    _contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt _copy
    _div_scalar _equal_scalar _full _greater_equal_scalar _greater_scalar _lesser_equal_scalar
    _lesser_scalar _maximum _maximum_scalar _minimum _minimum_scalar _minus_scalar _mul_scalar
    _not_equal_scalar _ones _plus_scalar _power_scalar _rdiv_scalar _rminus_scalar
    _rnn_param_concat _zeros Activation amp_cast amp_multicast arctan batch_dot BatchNorm
    broadcast_add broadcast_axis broadcast_div broadcast_equal broadcast_greater
    broadcast_greater_equal broadcast_lesser broadcast_lesser_equal broadcast_like
    broadcast_maximum broadcast_minimum broadcast_mod broadcast_mul broadcast_not_equal
    broadcast_sub Cast ceil clip Concat concat Convolution Convolution_v1 cos Deconvolution
    Dropout elemwise_add elemwise_div elemwise_mul elemwise_sub erf exp expand_dims Flatten
    flatten floor FullyConnected gather_nd LayerNorm LeakyReLU log_softmax max mean min negative
    ones_like Pad pad Pooling Pooling_v1 relu repeat Reshape reshape reshape_like reverse RNN
    rsqrt SequenceMask sigmoid sin slice slice_axis slice_like SliceChannel Softmax softmax
    split sqrt square squeeze stack sum SwapAxis tanh tile transpose UpSampling where zeros_like
    """.split()
)
"""The operators that neuron-cc's documentation lists for MXNet, up to release 1.6.13.0."""
