"""A stand-in for MONAI's engines, which are ignite's with a network, an optimizer and a loss of their own."""
