"""The command line as a process: start-up, interruption, pipes, colour, hostile names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

HEAVY = {"numpy", "polars", "scipy", "sklearn", "PIL", "torch", "jinja2", "msgspec"}
K = ("--known", "known.txt")


def process(*arguments, **more):
    command = [sys.executable, "-m", "openset", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)


@pytest.mark.parametrize(
    "arguments", [[], ["--help"], ["evaluate", "--help"], ["--version"], ["evalute"]]
)
def test_asking_for_help_imports_nothing_heavy(arguments, here):
    code = (
        "import sys; from openset.cli import main; main(sys.argv[1:]);"
        "print(*sorted({m.partition('.')[0] for m in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "openset" in loaded
    assert not loaded & HEAVY
    if arguments in ([], ["--help"], ["--version"]):  # these wait for no parser
        assert not loaded & {"cyclopts", "rich"}


def test_asking_for_help_imports_few_files(here):
    """What start-up costs, counted: a time would say more of the machine than of us."""
    code = (
        "import sys; from openset.cli import main; main(['evaluate', '--help']);"
        "ours = [m for m in sys.modules if m.startswith('openset')];"
        "print(len(ours), len(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours, all_of_them = map(int, done.stderr.split()[-2:])
    assert ours <= 40  # 34 when written, of 275
    assert all_of_them <= 320


def test_a_verb_imports_no_other(here):
    code = (
        "import sys; from openset.cli import main; main(['list', '--help']);"
        "print(*[m for m in sys.modules if m.startswith('openset.cli.')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "openset.cli.list" in done.stderr
    assert "openset.cli.evaluate" not in done.stderr


def test_a_new_verb_is_one_new_file(here, openset, monkeypatch):
    from openset import cli
    from openset.cli import _front

    folder = here / "more"
    folder.mkdir()
    (folder / "greet.py").write_text(
        "from openset.cli._app import verb\nfrom openset.cli._console import Answer\n"
        "app = verb('greet', panel='Other')\n\n"
        "@app.default\ndef greet(name: str, /):\n"
        '    """Greet someone."""\n    return Answer(f"hello {name}")\n'
    )
    monkeypatch.setattr(cli, "__path__", [*cli.__path__, str(folder)])
    _front.verbs.cache_clear()
    try:
        assert openset("greet", "you").out == "hello you\n"
        assert "Greet someone." in openset("--help").out
    finally:
        _front.verbs.cache_clear()


def test_interruption_leaves_nothing(scene):
    slow = (
        "import time, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from openset.evaluation import _run_folder as f\n"
        "real = f.write\n"
        "def wait(*a, **k):\n    real(*a, **k)\n    print('now', flush=True)\n    time.sleep(30)\n"
        "f.write = wait\n"
        "from openset.cli import main\n"
        "sys.exit(main('evaluate gt.json base.json --known known.txt -o run'.split()))\n"
    )
    before = sorted(p.name for p in scene.iterdir())
    with subprocess.Popen(
        [sys.executable, "-c", slow], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stdout.readline() == "now\n"
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert err.splitlines()[-1] == "interrupted" and "Traceback" not in err
    assert sorted(p.name for p in scene.iterdir()) == before


def test_a_closed_pipe_is_no_error(here):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "openset", "list", "metrics"],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 141 and done.stderr == ""


CLOSED = [[1], [2], [1, 2], [0, 1, 2]]
SPEAKING = {  # of every way to speak: an answer, findings, progress, a page, JSON, a refusal
    "evaluate gt.json base.json --known known.txt --no-intervals -o run": 0,
    "evaluate gt.json base.json --known known.txt --no-intervals --json": 0,
    "evaluate gt.json absent.json --known known.txt": 2,
    "check gt.json base.json --known known.txt": 0,
    "list metrics": 0,
    "explain OS101": 0,
    "select gt.json --share 0.5 -o half.json": 0,
    "--version": 0,
    "--help": 0,
    "evaluate --help": 0,
    "evalute": 2,
}


@pytest.mark.parametrize("closed", CLOSED)
def test_closed_streams_are_no_error(closed, scene):
    """As ``>&-`` leaves them: what is opened next must not take their numbers, either."""
    shell = " ".join(f"{number}{'<' if number == 0 else '>'}&-" for number in closed)
    for line, code in SPEAKING.items():
        command = f'exec "$0" -m openset {line} {shell}'
        done = subprocess.run(
            ["sh", "-c", command, sys.executable],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, (line, done.stderr)
        assert "Traceback" not in done.stdout + done.stderr
    assert process("report", "run").returncode == 0
    assert process("describe", "half.json", *K).returncode == 0


def test_no_colour_in_pipes(scene):
    for environment in ({}, {"NO_COLOR": "1"}, {"TERM": "xterm-256color"}):
        done = process("evaluate", "gt.json", "base.json", *K, env={**os.environ, **environment})
        assert "\x1b" not in done.stdout + done.stderr


HOSTILE = "\x1b[2Jzebra\r\n<script>alert(1)</script>\u202e" + "x" * 5000


def test_hostile_names_are_shown_not_obeyed(scene, openset):
    truth = json.loads((scene / "gt.json").read_text())
    truth["categories"][0]["name"] = HOSTILE
    truth["images"][0]["file_name"] = f"../../{HOSTILE}"
    (scene / "gt.json").write_text(json.dumps(truth))
    (scene / "a\x1b[31m b.json").write_text((scene / "base.json").read_text())
    done = openset("evaluate", "gt.json", "a\x1b[31m b.json", "--known", "cat,", "-o", "run")
    assert done.code == 0
    for text in (done.out, done.err):
        assert not set(text) & {"\x1b", "\r", "\u202e"}
    inside = sorted(p.name for p in (scene / "run").iterdir())
    assert len(inside) == 4 and all(name.isprintable() for name in inside)


def test_a_file_name_that_is_not_unicode(scene):
    name = os.fsdecode(b"caf\xe9.json")
    try:
        (scene / name).write_text((scene / "base.json").read_text())
    except OSError:
        pytest.skip("this file system takes Unicode names only")
    done = process("evaluate", "gt.json", name, *K, "--no-intervals", "-o", "run")
    assert done.returncode == 0, done.stderr
    assert "caf" in done.stdout


def test_an_internal_error_is_not_an_answer(scene, capsys, monkeypatch):
    from openset.cli import main
    from openset.evaluation import run

    monkeypatch.setattr(run, "evaluate_all", lambda *a, **k: 1 / 0)
    assert main(["evaluate", "gt.json", "base.json"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "please report" in err
