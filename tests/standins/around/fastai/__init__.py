"""A stand-in for fastai: a learner that backpropagates, steps and then clears, and callbacks around each of them."""
