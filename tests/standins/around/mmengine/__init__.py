"""A stand-in for mmengine: a wrapper of an optimizer whose update_params backpropagates, steps and clears."""
