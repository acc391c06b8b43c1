# SPDX-License-Identifier: Apache-2.0
"""Two samples a batch through eight small layers: Python and dispatching take longer than they."""

from training import STEPS, Net, batches, train

train(batches(STEPS, batch=2, width=16), net=Net(width=16, layers=8))
