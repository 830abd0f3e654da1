from . import losses
from .nets import *
from .nets import build as make

__all__ = ["Net", "losses", "make"]
