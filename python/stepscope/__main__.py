# SPDX-License-Identifier: Apache-2.0
"""python -m stepscope ARGUMENTS… becomes the program."""

import os
import sys

from stepscope import program


def main():
    try:
        path = program()
    except FileNotFoundError as error:
        print(f"stepscope: {error}", file=sys.stderr)
        return 4
    os.execv(path, ["stepscope", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
