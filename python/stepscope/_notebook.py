# SPDX-License-Identifier: Apache-2.0
"""The magic %%stepscope of IPython and its notebooks: records what a cell does, and shows it."""

import asyncio
import os
import shutil
import tempfile

from IPython.core.error import UsageError
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from . import _stepscope
from ._options import read_options
from ._record_tool import NO_SCHEDULE, RecordTool
from ._recorder import NoRecorder


class _CellRecording(RecordTool):
    """The recording of one cell, apart from those of the Profiler."""

    def _start_recorder(self):
        _stepscope._follow_torch(self._torch_settings())
        self._begin_recorder()
        return True

    def _record_folder(self, tool):
        return self._top

    def begin(self, folder, options):
        """Raises NoRecorder."""
        self._top = folder
        self.take_options(self, options)
        self._standup()

    def finalize(self, output_top):
        _stepscope._follow(None)  # waiting for the recorder is no work of the cell
        try:
            super().finalize(output_top)
        finally:
            _stepscope._follow(NO_SCHEDULE)


def register(shell):
    """Adds the magic to a shell."""
    @magic_arguments()
    @argument("name", nargs="?", help="a variable for the recording, as stepscope.open() returns it")
    @argument("-o", "--output", metavar="FILE", help="keep the recording in this file")
    @argument("-r", "--rate", type=float, help="samples per second (default 100)")
    @argument("--no-torch", action="store_true", help="do not instrument PyTorch")
    @argument("--torch-profiler", metavar="WHAT", nargs="?", const="shapes",
              help='torch.profiler runs, too: any of "shapes,memory,flops,stacks"')
    def stepscope(line, cell):
        """Records what the cell does in this kernel, and shows where its time goes.

        The cell runs as without this line; the recorder is another process, which reads this one."""
        _record_cell(shell, parse_argstring(stepscope, line), cell)

    shell.register_magic_function(stepscope, "cell", "stepscope")


def _record_cell(shell, arguments, cell):
    _check(shell, arguments, cell)
    folder = tempfile.TemporaryDirectory(prefix="stepscope-")
    path = _path_of(arguments, folder)
    recording = _begin(path, arguments)
    try:
        result = _run(shell, cell)
    finally:
        recording.finalize(None)
    run = _open(path)
    run._folder = folder  # which lasts as long as the Run
    run._other_names = _names_of_cells(shell)
    if arguments.name is not None:
        shell.user_ns[arguments.name] = run
    _show(shell, run)
    failure = result.error_before_exec or result.error_in_exec
    if failure is not None:  # its traceback was shown; the cells below this one do not run
        text = " ".join(str(failure).split())
        raise UsageError(f"the recorded cell failed: {type(failure).__name__}"
                         + (f": {text}" if text else ""))


def _run(shell, cell):
    """Runs the cell under the number that its notebook shows: IPython may have counted on already."""
    counted, stored = shell.execution_count, len(shell.history_manager.input_hist_raw) - 1
    if stored != counted - 1:
        return shell.run_cell(cell)
    shell.execution_count = stored
    try:
        return shell.run_cell(cell)
    finally:
        shell.execution_count = counted


def _names_of_cells(shell):
    """What a kernel calls the files of cells, and what people call them: {"123.py": "In [5]"}."""
    files = getattr(shell.compile, "_filename_map", {})
    return {os.path.basename(file): f"In [{number}]" for file, number in files.items()
            if os.path.isabs(file)}


def _check(shell, arguments, cell):
    """Raises what prevents the recording, before the cell runs."""
    if arguments.name is not None and not arguments.name.isidentifier():
        raise UsageError(f"%%stepscope takes the name of a variable, not {arguments.name!r}")
    if _stepscope._is_recording():
        raise UsageError("%%stepscope: this kernel is being recorded already, by `stepscope record` "
                         "or a Profiler; end that recording first")
    reason = RecordTool().unavailable()
    if reason is not None:
        raise UsageError(f"%%stepscope: nothing is recorded: {reason}")
    if shell.should_run_async(cell, transformed_cell=shell.transform_cell(cell)) and _loop_runs():
        raise UsageError("%%stepscope cannot record a cell with `await` at its top; put the work "
                         "into stepscope.Profiler(): see its documentation")


def _loop_runs():
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _path_of(arguments, folder):
    if arguments.output is None:
        return os.path.join(folder.name, "cell.pftrace")
    return os.path.abspath(os.path.expanduser(arguments.output))


def _begin(path, arguments):
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        raise UsageError(f"%%stepscope: there is no folder {folder}; make it, or choose another one")
    recording = _CellRecording()
    try:
        recording.begin(folder, read_options({
            "trace_file": name.replace("{", "_").replace("}", "_"), "overwrite": True,
            "rate": arguments.rate, "torch": not arguments.no_torch,
            "torch_profiler": arguments.torch_profiler}))
    except NoRecorder as error:
        raise UsageError(f"%%stepscope: nothing is recorded: {error}") from None
    except (TypeError, ValueError) as error:
        raise UsageError(f"%%stepscope: {error}") from None
    return recording


def _open(path):
    from ._reader import errors, open
    try:
        return open(path)
    except errors["Error"] as error:
        raise UsageError(f"%%stepscope: the recording cannot be shown: {error}") from None


def _show(shell, run):
    if hasattr(shell, "kernel"):
        from IPython.display import display
        display(run)
    else:  # a terminal
        print(run._shown("text", width=shutil.get_terminal_size().columns))
