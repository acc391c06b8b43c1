# SPDX-License-Identifier: Apache-2.0
"""What `make test`, `make check` and `make check-long` do: tests/run has the order. Standard library
only: it runs before the test environment exists."""
