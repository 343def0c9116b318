"""Options from ``openset.toml`` and ``pyproject.toml``: the nearest counts, typos do not pass."""

from __future__ import annotations

import json

import pytest

from scenes.cli import write_scene

ASKED = ("evaluate", "gt.json", "base.json", "-q")
SETTINGS = """
[evaluate]
known = "known.txt"
protocol = "owod"
metrics = ["a_ose", "udr"]
no-intervals = true
"""


@pytest.mark.parametrize("name", ["openset.toml", "pyproject.toml"])
def test_settings_are_taken(name, scene, openset):
    text = SETTINGS if name == "openset.toml" else SETTINGS.replace("[", "[tool.openset.", 1)
    (scene / name).write_text(text)
    done = openset(*ASKED)
    assert done.code == 0
    assert "protocol owod" in done.out and "no intervals" in done.out
    assert "A-OSE" in done.out and "AP known" not in done.out


def test_the_command_line_wins(scene, openset):
    (scene / "openset.toml").write_text(SETTINGS)
    assert "protocol default" in openset(*ASKED, "--protocol", "default").out


def test_the_nearest_file_counts(scene, openset, monkeypatch):
    (scene / "openset.toml").write_text(SETTINGS.replace('"owod"', '"coco"'))
    inner = scene / "inner"
    inner.mkdir()
    write_scene(inner)
    monkeypatch.chdir(inner)
    assert "protocol coco" in openset(*ASKED).out
    (inner / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert "protocol coco" in openset(*ASKED).out
    (inner / "openset.toml").write_text(SETTINGS)
    assert "protocol owod" in openset(*ASKED).out


def test_json_by_setting_holds_for_errors_too(scene, openset):
    (scene / "openset.toml").write_text('[evaluate]\nknown = "known.txt"\njson = true\n')
    done = openset("evaluate", "gt.json", "nothing.json")
    assert done.code == done.json["exit_code"] == 2


def test_a_file_of_settings_is_named(scene, openset, monkeypatch):
    settings = scene / "openset.toml"
    settings.write_text(SETTINGS)
    inner = scene / "inner"
    inner.mkdir()
    write_scene(inner)
    (inner / "known.txt").write_text("dog\ncat\n")
    monkeypatch.chdir(inner)
    asked = [*ASKED[:-1], "--protocol", "coco", "-o", "run"]
    monkeypatch.setattr("sys.argv", ["openset", *asked])
    done = openset(*asked)
    said = 'openset.toml: known = "known.txt", metrics = ["a_ose", "udr"], no-inter'
    assert (
        f"options from TMP/{said}" in done.err and "protocol =" not in done.err
    )  # the command line wins
    kept = json.loads((inner / "run" / "run.json").read_text())["command"]
    assert kept.startswith("openset evaluate gt.json") and said in kept
    held = openset(*asked, "--json").json["settings"]
    assert held["file"] == "TMP/openset.toml" and held["options"]["known"] == "known.txt"


def test_without_such_a_file_nothing_is_said(scene, openset):
    (scene / "openset.toml").write_text('[check]\nknown = "known.txt"\n')
    done = openset(*ASKED[:-1], "--known", "known.txt", "--no-intervals")
    assert "options from" not in done.err
    asked = (*ASKED, "--known", "known.txt", "--json", "--no-intervals")
    assert "settings" not in openset(*asked).json


WRONG = {
    "misspelt key": ('[evaluate]\nprotocl = "owod"\n', "Did you mean 'protocol'"),
    "misspelt verb": ('[evalute]\nprotocol = "owod"\n', "Did you mean 'evaluate'"),
    "key outside of a verb": ('protocol = "owod"\n', "unknown verb"),
    "a verb that is no table": ("evaluate = 3\n", "must be a table"),
    "wrong type": ('[evaluate]\nseed = "x"\n', "seed"),
    "a fraction": ("[evaluate]\nseed = 1.5\n", "--seed takes a whole number, not 1.5"),
    "wrong choice": ('[evaluate]\nleaked = "dropp"\n', "leaked"),
    "not TOML": ("[evaluate\n", "openset.toml"),
    "not UTF-8": (b"\xff\xfe\x00", "openset.toml"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_settings_are_refused(name, scene, openset):
    content, expected = WRONG[name]
    data = content if isinstance(content, bytes) else content.encode()
    (scene / "openset.toml").write_bytes(data)
    done = openset(*ASKED)
    assert done.code == 2 and done.out == ""
    assert expected in " ".join(done.err.split())
    assert openset(*ASKED, "--json").json["error"]["kind"] == "usage"


def test_help_works_in_spite_of_wrong_settings(scene, openset):
    (scene / "openset.toml").write_text("[evaluate\n")
    assert openset("--help").code == 0
    assert openset("evaluate", "--help").code == 0


@pytest.mark.parametrize("text", ["1.5", "2.0", ".5", "1e-3"])
def test_a_fraction_is_no_count(text, scene, openset):
    done = openset(*ASKED, "--known", "known.txt", "--seed", text)
    assert done.code == 2 and f"--seed takes a whole number, not {text}" in done.err
