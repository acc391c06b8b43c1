# SPDX-License-Identifier: Apache-2.0
"""What a rank of MPI that comes late to each collective costs the others."""

import re

LATE, RANKS, STEPS = 2, 4, 15


def test_the_late_rank_is_named(recordings, rows_of):
    rows = {row["rank"]: row for row in rows_of(recordings("mpi_late").trace, "rank")}
    assert sorted(rows) == list(range(RANKS))
    caused = {rank: row["caused_ns"] for rank, row in rows.items()}
    assert max(caused, key=caused.get) == LATE
    assert caused[LATE] > STEPS * 3 * 30e6


def test_the_report_of_a_program_without_steps_opens_with_the_late_rank(recordings, text_of):
    text = text_of(recordings("mpi_late").trace)
    assert f"{RANKS} ranks: rank {LATE} holds up every other rank by " in text
    last, = re.findall(r"last in (\d+) of 15 collectives, waited ", text)
    assert int(last) >= 12


def test_a_rank_that_is_killed_was_late_until_then(recordings, rows_of):
    rows = [row for row in rows_of(recordings("mpi_killed").trace, "collective") if row["group"] == "world"]
    late = [row["last_rank"] for row in rows]
    assert late.count(1) >= 4 > late.count(0), late
