# SPDX-License-Identifier: Apache-2.0
"""Described runs: make_foreign writes the files of tests/recordings/foreign from them."""
