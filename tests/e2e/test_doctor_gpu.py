# SPDX-License-Identifier: Apache-2.0
"""stepscope doctor --gpu on the simulated device: all claims hold there, and each of its faults makes
one fail, with the sentence that says so. Faults of different claims share a run."""

import json
import re
import shutil
import subprocess

import pytest
from test_gpu import simulated

CLAIMS = ["driver", "kernels", "collector", "clock", "order", "timer", "durations", "correlation", "bytes",
          "bandwidth", "flops", "times", "loss", "end", "refused buffers", "flush", "overhead", "launch"]
# What depends on how busy this machine is.
TIMED = {"flush", "overhead", "launch"}


@pytest.fixture
def claims(stepscope, source_dir, tmp_path):
    def of(*options, status):
        done = stepscope("doctor", "--gpu", "--format", "json", status=status,
                         env={**simulated(source_dir, *options), "TMPDIR": str(tmp_path)})
        assert list(tmp_path.iterdir()) == []  # nothing stays
        found = json.loads(done.stdout)
        assert found["schema"] == 1
        assert [one["name"] for one in found["claims"]] == CLAIMS
        for one in found["claims"]:
            assert one["text"] and (one["fix"] == "") == (one["state"] != "fails")
        assert found["holds"] == all(one["state"] != "fails" for one in found["claims"])
        return {one["name"]: one for one in found["claims"]}
    return of


def failing(found):
    return {name for name, one in found.items() if one["state"] == "fails"} - TIMED


def test_all_claims_hold(claims):
    """Also with a CUPTI that would not stand a refused buffer: before 12.9 no request is refused."""
    found = claims("--fault", "no-null-buffers", "--cupti", "12.6", status=None)
    assert {name for name, one in found.items() if one["state"] != "holds"} <= TIMED
    assert "Simulated A100, 108 multiprocessors, compute capability 8.0" in found["driver"]["text"]
    assert found["durations"]["text"].startswith("12 of 12 kernels")
    assert found["correlation"]["text"].startswith("32 of 32 kernels")
    assert "20000 of them launched in a burst" in found["loss"]["text"]
    gb_s = float(re.search(r"(\d+) GB/s, of at most 1555", found["bandwidth"]["text"]).group(1))
    assert 1400 < gb_s < 1555
    tflops = float(re.search(r"([\d.]+) TFLOP/s, of at most 19.49", found["flops"]["text"]).group(1))
    assert 17 < tflops < 18
    assert re.search(r"each of the \d+ missing kernels is counted", found["refused buffers"]["text"])


def test_text_has_a_line_for_each_claim(stepscope, source_dir):
    done = stepscope("doctor", "--gpu", status=None, env=simulated(source_dir))
    lines = [line for line in done.stdout.splitlines() if line[:1] not in ("", " ")]
    claims, (summary, *after) = lines[:len(CLAIMS)], lines[len(CLAIMS):]
    assert [line[10:31].strip() for line in claims] == CLAIMS
    assert {line[10:31].strip() for line in claims if not line.startswith("holds ")} <= TIMED
    assert re.fullmatch(r"\d+ claims hold, \d fail, 0 could not be measured\.", summary)
    assert after == ["Reports of recordings from here show hardware counters."] * (done.returncode == 0)


def with_faults(*names):
    return [word for name in names for word in ("--fault", name)]


def test_faults_fail_their_claims(claims):
    """The device says that its sleeps took what they were asked to take, and records another time."""
    found = claims(*with_faults("refused-clock", "late-records", "slow-flush"), "--duration",
                   "stepscope_sleep=50us,stepscope_fma=1us,stepscope_copy=1us", status=1)
    assert failing(found) == {"clock", "end", "durations", "bandwidth", "flops"}
    assert "CUPTI refused CLOCK_MONOTONIC for its times: its own clock is converted" in found["clock"]["text"]
    assert ("50 of the 50 kernels that were launched just before the program ended are missing, and all "
            "earlier ones are there: CUPTI returns records late") in found["end"]["text"]
    assert "0 of 12 kernels that sleep" in found["durations"]["text"]
    assert "no kernel can do that" in found["flops"]["fix"] and "no kernel can do that" in \
        found["bandwidth"]["fix"]
    assert found["flush"]["state"] == "fails"
    waits_ms = int(re.match(r"the end of the program waits (\d+) ms for the last records: CUPTI is slow to "
                            "return its buffers", found["flush"]["text"]).group(1))
    assert waits_ms >= 290


def test_faults_of_buffers_fail_their_claims(claims):
    found = claims(*with_faults("exhausted-buffers", "no-null-buffers"), status=1)
    assert failing(found) == {"times", "refused buffers"}
    assert "works have no times: the device had no buffer left for them" in found["times"]["text"]
    assert ("the program was killed (Aborted) when a buffer was refused to CUPTI (fake cupti: the client "
            "returned no buffer") in found["refused buffers"]["text"]


def test_lost_records_are_a_loss_with_its_count(claims):
    found = claims("--fault", "lost-records", status=1)
    assert failing(found) == {"loss"}
    match = re.match(r"(\d+) of (\d+) kernels were not recorded; counted: (\d+) launches without a kernel, "
                     r"(\d+) records dropped by CUPTI", found["loss"]["text"])
    missing, launched, unlaunched, dropped = map(int, match.groups())
    assert missing == unlaunched <= dropped and dropped == pytest.approx(launched / 10, rel=0.01)
    assert found["end"]["state"] == found["bytes"]["state"] == "not measurable"
    assert found["correlation"]["state"] == "holds"  # of the kernels that are there


def test_wrong_times_are_outside_of_launch_and_wait(claims):
    found = claims("--fault", "wrong-clock", status=1)
    assert "order" in failing(found) <= {"order", "loss"}
    assert re.match(r"32 of 32 kernels lie outside of the time between their launch and the wait for them, "
                    r"by up to 499\d\.\d us", found["order"]["text"])
    assert found["durations"]["state"] == found["timer"]["state"] == "holds"


def test_a_busy_owner_is_named(claims):
    found = claims("--fault", "busy-owner", status=1)
    assert failing(found) == {"collector"}
    assert found["collector"]["text"].startswith("another tool uses CUPTI in this process: Nsight Systems")
    assert {one["state"] for name, one in found.items() if name not in ("driver", "kernels", "collector")} \
        == {"not measurable"}


def test_without_a_driver_nothing_is_measured(claims):
    found = claims("--fault", "no-driver", status=4)
    assert failing(found) == {"driver"}
    assert found["driver"]["text"] == "cuInit: no CUDA-capable device is detected (100)"
    assert "nvidia-smi" in found["driver"]["fix"]
    assert {one["state"] for name, one in found.items() if name != "driver"} == {"not measurable"}


def test_on_a_machine_without_cuda_the_status_is_4(stepscope, tmp_path):
    if shutil.which("nvidia-smi"):
        pytest.skip("this machine has a driver of CUDA")
    done = stepscope("doctor", "--gpu", status=4, env={"TMPDIR": str(tmp_path), "LD_LIBRARY_PATH": ""})
    assert done.stdout.startswith("fails     driver               there is no driver of CUDA: libcuda.so.1")


def test_an_injection_of_the_user_is_named(stepscope, source_dir, tmp_path):
    done = stepscope("doctor", "--gpu", "--format", "json", status=1,
                     env={**simulated(source_dir), "CUDA_INJECTION64_PATH": str(tmp_path / "mine.so")})
    found = {one["name"]: one for one in json.loads(done.stdout)["claims"]}
    assert "CUDA_INJECTION64_PATH is set already" in found["collector"]["text"]


def test_the_kernels_assemble(source_dir, tmp_path):
    """For the oldest device that the assembler of this machine knows, and newer ones."""
    ptxas = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")
    if ptxas is None:
        pytest.skip("no ptxas: neither in the path nor in /usr/local/cuda/bin")
    text = (source_dir / "src/cli/doctor/doctor_gpu_kernels.h").read_text()
    strings = re.findall(r'^ +"((?:[^"\\]|\\.)*)"', text, re.M)
    assembly = tmp_path / "kernels.ptx"
    assembly.write_text("".join(strings).replace("\\n", "\n"))
    for capability in ("75", "80", "90"):
        subprocess.run([ptxas, f"-arch=sm_{capability}", "-o", tmp_path / "kernels.cubin", assembly],
                       check=True)
