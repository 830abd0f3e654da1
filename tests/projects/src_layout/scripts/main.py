import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from lab.model import Pair  # noqa: E402

torch.manual_seed(0)
one, other = Pair()(torch.ones(2, 3))
one.backward()
other.backward()  # want: shared-backward
