# SPDX-License-Identifier: Apache-2.0
"""A busy stack of 30 frames that stays."""


def call(left):
    if left > 0:
        call(left - 1)
        return
    print('{"ready": true}', flush=True)
    while True:
        pass


call(28)
