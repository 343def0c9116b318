"""Another system, as far as this one can play it: imported by every Python that is started.

As on Windows there are no modules of POSIX, processes are spawned, no rename replaces a folder, and
text is not UTF-8 unless somebody says so (the locale, which the test sets). As on macOS, nothing
exchanges two names at once, and nobody can ask on which cores a process may run.
"""

import multiprocessing
import os
import pathlib
import signal
import sys

MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")
CALLS = ("fork", "forkpty", "geteuid", "getuid", "killpg", "mkfifo", "nice", "sched_getaffinity")


class _Absent:
    def find_spec(self, name, path=None, target=None):
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _no_folder(move):
    def moved(source, target, **options):
        if pathlib.Path(target).is_dir():
            raise PermissionError(13, "Access is denied", str(target))
        return move(source, target, **options)

    return moved


def _nothing(move):
    def moved(source, target, **options):
        if os.path.lexists(target):
            raise FileExistsError(17, "Cannot create a file when that file exists", str(target))
        return move(source, target, **options)

    return moved


sys.meta_path.insert(0, _Absent())
for module in MODULES:
    sys.modules.pop(module, None)
for call in CALLS:
    if hasattr(os, call):
        delattr(os, call)
for name in ("SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE"):
    if hasattr(signal, name):
        delattr(signal, name)
os.replace, os.rename = _no_folder(os.replace), _nothing(os.rename)
multiprocessing.set_start_method("spawn")
