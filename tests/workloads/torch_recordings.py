# SPDX-License-Identifier: Apache-2.0
"""Trains 6 updates, again and again, each time in a recording of its own with other options; model,
optimizer and scheduler are there before the first. Writes 0.pftrace… to a folder.

    torch_recordings.py FOLDER OPTIONS…     each a dict in JSON"""

import json
import sys

import stepscope
import torch

torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)))
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
plain = torch.optim.Adam(net.parameters(), 1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100)
for number, options in enumerate(sys.argv[2:]):
    with stepscope.Profiler(output_path=sys.argv[1], trace_file=f"{number}.pftrace", **json.loads(options)):
        for x in torch.utils.data.DataLoader(torch.ones(24, 8), batch_size=4):
            net(x).sum().backward()
            (plain if number % 2 else optimizer).step()
