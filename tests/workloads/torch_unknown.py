# SPDX-License-Identifier: Apache-2.0
"""A training of a torch that says it is version 2.99.0, which no stepscope supports. Prints that as JSON, and whether
this torch has ranges for ITT.

    torch_unknown.py [STEPS]     without them: one forward and backward, without an optimizer"""

import json
import sys
import types

version = types.ModuleType("torch.version")
version.__version__ = "2.99.0"
version.cuda = version.hip = version.xpu = version.git_version = None
version.debug = False
sys.modules["torch.version"] = version

import torch

torch.set_num_threads(1)
net = torch.nn.Linear(4, 1)
if len(sys.argv) == 1:
    net(torch.ones(2, 4)).sum().backward()
else:
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    for _ in range(int(sys.argv[1])):
        net(torch.ones(2, 4)).sum().backward()
        optimizer.step()
print(json.dumps({"version": torch.__version__, "itt": torch.profiler.itt.is_available()}))
