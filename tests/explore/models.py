"""Small models for the tests of neuron-explore."""

MLP = """HloModule mlp

ENTRY main {
  x = f32[64,128] parameter(0)
  w = f32[128,128] parameter(1)
  up = f32[64,128] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, \
metadata={op_name="mlp/up"}
  act = f32[64,128] tanh(up), metadata={op_name="mlp/act"}
  again = f32[64,128] tanh(up)
  ROOT y = f32[64,128] add(act, again)
}
"""
"""Two equal tanh, which hlo-cse merges."""
