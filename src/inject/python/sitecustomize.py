# SPDX-License-Identifier: Apache-2.0
"""A recording puts this folder first into PYTHONPATH, for Pythons that LD_PRELOAD does not reach. In
those it loads preload.so, which listens to imports. Then it runs the sitecustomize that would have run
without it: that module and its errors stay the same.

It runs in Pythons of every version and implementation, from 2.7 on, and must not fail in any."""
import os
import sys


def _reach_torch(preload):
    """Loads preload.so. It is not a Python module, so the import raises an error each time."""
    if ("STEPSCOPE_LIBRARY" in os.environ and "STEPSCOPE_TORCH" in os.environ
            and preload not in os.environ.get("LD_PRELOAD", "")
            and sys.version_info >= (3, 8) and sys.implementation.name == "cpython"):
        try:
            import _imp
            _imp.create_dynamic(type(__spec__)("stepscope_preload", None, origin=preload))
        except Exception:
            pass


if __name__ == "sitecustomize":
    _folder = os.path.dirname(__file__)
    _reach_torch(os.path.join(os.path.dirname(_folder), "preload.so"))
    sys.path[:] = [entry for entry in sys.path if entry != _folder]
    sys.path_importer_cache.pop(_folder, None)
    _ours = sys.modules.pop(__name__)  # Python 2 would forget our names now
    import sitecustomize
