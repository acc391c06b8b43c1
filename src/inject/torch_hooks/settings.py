# SPDX-License-Identifier: Apache-2.0
"""What to record, as text of the form "depth=2,operators=auto"."""

from .libstepscope import read_settings, set_module_depth, turn_off


class _Settings:
    """Those of the current recording; only set-up and the start of a recording change them."""
    values = {}
    depth = 2         # of the deepest modules with names of their own
    optimizer = None  # name of the class whose updates end steps; None: any

    @classmethod
    def read(cls):
        pairs = (part.split("=", 1) for part in read_settings().split(",") if "=" in part)
        cls.values = dict(pairs)
        cls.depth = int(cls.values.get("depth", "2"))
        cls.optimizer = cls.values.get("optimizer")
        set_module_depth(cls.depth)
        turn_off(cls.is_off())

    @classmethod
    def is_off(cls):
        return "off" in cls.values


settings = _Settings
