"""A stand-in for detectron2: a trainer whose run_step clears between forward and backward, and an evaluation."""
