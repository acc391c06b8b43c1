# SPDX-License-Identifier: Apache-2.0
"""A kernel that Nsight Compute measured on a T4, as its table of the page "details": thousands have
separators, rows of rules have no metric, and two metrics share a name."""

NAME = ("scale_rows[v1,cw51cXTLSUwv1sDUaKthrqNgqqmjgOR3W3CwAkMXLaJtQYkOIgxJU0gCqOkEJoHk](Array<float, 2, C, mutable, "
        "aligned>, Array<float, 1, C, mutable, aligned>, float)")
HEAD = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size",
        "Device", "CC", "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type",
        "Rule Description", "Estimated Speedup Type", "Estimated Speedup"]
# The device and the kernel: what all figures below follow from.
SMS, WARPS_OF_SM, REGISTERS_OF_SM, SHARED_OF_SM, BLOCKS_OF_SM = 40, 32, 65536, 65536, 16
PEAK_BYTES_PER_S = 320_064_000_000
THREADS, GRID, REGISTERS, SHARED = 192, 2000, 56, 8192
DURATION_NS, BYTES, SM_HZ, DRAM_HZ, ACTIVE = 7_340_032, 1_612_709_888, 912_448_013.31, 4_996_702_311.5, .8871
COMPUTE_PCT, L1_PCT, L2_PCT = 23.4, 41.07, 19.62
RULES = [("SpeedOfLight", "SOLBottleneck", "OPT", "Memory is used more than compute.", "", ""),
         ("MemoryWorkloadAnalysis_Tables", "MemoryCacheAccessPattern", "OPT", 'Loads use 16.0 of the 32 bytes, '
          'of a "sector".', "global", "12.5"),
         ("WarpStateStats", "CPIStall", "INF", "Warps wait for memory, mostly.", "", "")]


def occupancy():
    """CUDA's rules for compute capability 7.5."""
    warps = -(-THREADS // 32)
    by_registers = REGISTERS_OF_SM // (256 * -(-REGISTERS * 32 // 256)) // 4 * 4 // warps
    limits = {"SM": BLOCKS_OF_SM, "Registers": by_registers, "Shared Mem": SHARED_OF_SM // SHARED,
              "Warps": WARPS_OF_SM // warps}
    return limits, min(limits.values()) * warps, GRID / (min(limits.values()) * SMS)


def number(value):
    """As Nsight Compute writes it: two decimals, unless they are zeros of a whole number."""
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def metrics():
    per_s = BYTES / DURATION_NS * 1e9
    dram = round(100 * per_s / PEAK_BYTES_PER_S, 2)
    limits, active, waves = occupancy()
    cycles = int(SM_HZ * DURATION_NS / 1e9)
    light, memory = "GPU Speed Of Light Throughput", "Memory Workload Analysis"
    return [
        (light, "DRAM Frequency", "hz", DRAM_HZ), (light, "SM Frequency", "hz", SM_HZ),
        (light, "Elapsed Cycles", "cycle", cycles), (light, "Memory Throughput", "%", dram),
        (light, "DRAM Throughput", "%", dram), (light, "Duration", "ns", DURATION_NS),
        (light, "L1/TEX Cache Throughput", "%", L1_PCT), (light, "L2 Cache Throughput", "%", L2_PCT),
        (light, "Compute (SM) Throughput", "%", COMPUTE_PCT), RULES[0],
        ("Compute Workload Analysis", "Executed Ipc Active", "inst/cycle", .61),
        (memory, "Memory Throughput", "byte/s", per_s), (memory, "Max Bandwidth", "%", dram),
        (memory, "L2 Hit Rate", "%", 49.38), RULES[1],
        ("Warp State Statistics", "Warp Cycles Per Issued Instruction", "cycle", 39.5), RULES[2],
        ("Launch Statistics", "Block Size", "", THREADS),
        ("Launch Statistics", "Function Cache Configuration", "", "CachePreferNone"),
        ("Launch Statistics", "Grid Size", "", GRID),
        ("Launch Statistics", "Registers Per Thread", "register/thread", REGISTERS),
        ("Launch Statistics", "Shared Memory Configuration Size", "byte", SHARED_OF_SM),
        ("Launch Statistics", "Driver Shared Memory Per Block", "byte/block", 0),
        ("Launch Statistics", "Dynamic Shared Memory Per Block", "byte/block", 0),
        ("Launch Statistics", "Static Shared Memory Per Block", "byte/block", SHARED),
        ("Launch Statistics", "# SMs", "SM", SMS), ("Launch Statistics", "Threads", "thread", THREADS * GRID),
        ("Launch Statistics", "Waves Per SM", "", waves),
        *[("Occupancy", f"Block Limit {name}", "block", limit) for name, limit in limits.items()],
        ("Occupancy", "Theoretical Active Warps per SM", "warp", active),
        ("Occupancy", "Theoretical Occupancy", "%", 100 * active / WARPS_OF_SM),
        ("Occupancy", "Achieved Occupancy", "%", 100 * ACTIVE),
        ("Occupancy", "Achieved Active Warps Per SM", "warp", ACTIVE * WARPS_OF_SM),
        ("Source Counters", "Branch Efficiency", "%", 100)]


def table():
    """{name: (content, facts)}"""
    found, lines = metrics(), []
    first = ["0", "6153", "python3.11", "127.0.0.1", NAME, "1", "7", f"({THREADS}, 1, 1)", f"({GRID}, 1, 1)", "0", "7.5"]
    for row in found:
        if row in RULES:
            section, *rule = row
            lines.append(quoted([*first, section, "", "", "", *rule]))
        else:
            value = row[3] if isinstance(row[3], str) else number(row[3])
            lines.append(quoted([*first, *row[:3], value]) + ",")
    known = {(row[0], row[1]): row[3] for row in found}
    light, (_, active, waves) = "GPU Speed Of Light Throughput", occupancy()
    per_s = round(BYTES / DURATION_NS * 1e9, 2)
    facts = {"rows": len(found), "rule_rows": len(RULES), "kernel": "scale_rows", "duration_ns": DURATION_NS,
             "dram_GBps": round(per_s / 1e9, 3), "dram_pct": known[light, "DRAM Throughput"], "dram_hz": DRAM_HZ,
             "sm_hz": SM_HZ, "elapsed_cycles": known[light, "Elapsed Cycles"], "bytes": BYTES,
             "ach_occ": round(100 * ACTIVE, 2), "compute_pct": COMPUTE_PCT, "l1_pct": L1_PCT, "l2_pct": L2_PCT,
             "theoretical_pct": 100 * active / WARPS_OF_SM, "registers": REGISTERS, "block_threads": THREADS,
             "grid": GRID, "waves": waves}
    return {"ncu/scale_rows.csv": (("\n".join([quoted(HEAD), *lines]) + "\n").encode(), facts)}


def quoted(fields):
    return ",".join('"' + field.replace('"', '""') + '"' for field in fields)


FILES = (table,)
