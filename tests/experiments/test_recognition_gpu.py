"""The GPU example: it runs without a GPU, and where little more than torch is installed."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from scenes.recognition import cifar, cub, mnist, svhn, tinyimagenet
from scenes.workflows import lines

pytest.importorskip("torch", reason="the torch extra is not installed")
EXAMPLE = Path(__file__).parents[2] / "experiments" / "recognition_gpu.py"
BLOCKED = """
import runpy, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("msgspec", "polars", "torchvision", "PIL", "cyclopts"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
module = runpy.run_path(sys.argv[1])
"""
JOB = {
    "data": "digits", "also": [], "folder": "", "unknown_folder": "", "work": None, "epochs": 1,
    "device": "cpu", "precision": "float32", "compiled": False, "network": "", "size": 0,
    "images": 0, "left_out": [], "graphed": False, "ahead": 1,
}  # fmt: skip


def without_most(job):
    """The row of a training where few packages can be imported."""
    code = f"{BLOCKED}\nimport json\nprint(json.dumps(module['trained']({job!r})))"
    done = subprocess.run(
        [sys.executable, "-c", code, EXAMPLE], capture_output=True, text=True, check=True
    )
    [row] = json.loads(done.stdout)
    return row


def test_a_trial_needs_little_more_than_torch():
    row = without_most(JOB | {"method": "openauc,weight=0.2", "trial": 0})
    assert (row["method"], row["trial"], row["pictures"]) == ("openauc,weight=0.2", 0, 12 * 64)
    assert 0 < row["openauc"] < 100
    assert row["openauc"] != row["openauc_by_probability"]


def test_options_are_chosen_on_fewer_pictures_of_known_classes():
    job = JOB | {"method": "ce_plus", "trial": 0, "left_out": [0, 5], "images": 40}
    row = without_most(job)
    assert row["pictures"] == round(4 * 30 / 64) * 64  # three quarters of 40 of four classes
    assert row["left_out"] == [0, 5]


def command(rows, *more):
    given = [sys.executable, EXAMPLE, "digits", "--rows", rows, "--epochs", "1", "--device", "cpu"]
    given += ["--precision", "float32", "--processes", "1", *more]
    return subprocess.run(given, capture_output=True, text=True, check=True)


def test_rows_that_are_there_are_not_trained_again(tmp_path):
    rows = tmp_path / "rows.jsonl"
    first = command(rows, "--methods", "ce_plus", "--trials", "0", "--work", tmp_path / "work")
    assert "0 of 1 trainings are there" in first.stderr
    assert len(list((tmp_path / "work").iterdir())) == 1
    with rows.open("a") as file:
        file.write('{"method": "ce_plus", "tri')  # a command that was killed within a row
    again = command(rows, "--methods", "ce_plus", "--trials", "0")
    assert "1 of 1 trainings are there" in again.stderr
    assert again.stdout == ""
    other = command(rows, "--methods", "ce_plus", "--trials", "0", "--images", "20")
    assert "0 of 1 trainings are there" in other.stderr
    assert [json.loads(line)["images"] for line in rows.read_text().splitlines()] == [0, 20]


def test_one_network_is_tested_with_the_unknown_classes_of_both(tmp_path):
    cifar(tmp_path, n=20)
    given = [sys.executable, EXAMPLE, "cifar+10", "--also", "cifar+50", "--folder", tmp_path]
    given += ["--rows", tmp_path / "rows", "--methods", "softmax", "--trials", "0", "--epochs", "1"]
    given += [
        "--device",
        "cpu",
        "--precision",
        "float32",
        "--network",
        "classifier8",
        "--size",
        "8",
    ]
    for said in ("0 of 1", "1 of 1"):
        done = subprocess.run(given, capture_output=True, text=True, check=True)
        assert f"{said} trainings are there" in done.stderr
    ten, fifty = (json.loads(line) for line in (tmp_path / "rows").read_text().splitlines())
    assert (ten["data"], fifty["data"]) == ("cifar+10", "cifar+50")
    assert ten["accuracy"] == fifty["accuracy"]
    assert ten["auc"] != fifty["auc"]
    wrong = subprocess.run([*given, "--also", "cifar10"], capture_output=True, text=True)
    assert wrong.returncode
    assert "cifar10 has other known classes than cifar+10" in wrong.stderr


def test_birds_have_three_levels_of_unknown_ones(tmp_path):
    cub(tmp_path)
    given = [sys.executable, EXAMPLE, "cub-easy", "--also", "cub-medium", "cub-hard", "--rows"]
    given += [tmp_path / "rows", "--folder", tmp_path, "--methods", "ce_plus", "--epochs", "1"]
    given += [
        "--device",
        "cpu",
        "--precision",
        "float32",
        "--network",
        "classifier8",
        "--size",
        "8",
    ]
    done = subprocess.run(given, capture_output=True, text=True)
    assert "0 of 1 trainings are there" in done.stderr and not done.returncode, done.stderr
    easy, medium, hard = map(json.loads, (tmp_path / "rows").read_text().splitlines())
    assert [one["data"] for one in (easy, medium, hard)] == ["cub-easy", "cub-medium", "cub-hard"]
    assert easy["accuracy"] == medium["accuracy"] == hard["accuracy"]
    assert len({one["auc"] for one in (easy, medium, hard)}) == 3
    page = [sys.executable, EXAMPLE.with_name("recognition_gpu_page.py"), tmp_path / "rows"]
    subprocess.run([*page, "--page", tmp_path / "cub.md"], check=True)
    assert (tmp_path / "cub.md").read_text("utf-8").count("| CE+ | 1 |") == 3


def test_a_recipe_says_how_many_epochs_unless_the_command_does():
    import recognition_gpu

    given = JOB | {"data": ["svhn", "cifar+10"], "also": ["cifar+50"], "epochs": None}
    given |= {"methods": ["ce_plus", "openauc", "arpl_cs"], "trials": [0, 1]}
    jobs = recognition_gpu.jobs_of(given)
    epochs = {(one["data"], one["method"]): one["epochs"] for one in jobs}
    assert len(jobs) == 12 and epochs["svhn", "ce_plus"] == 600
    assert epochs["svhn", "openauc"] == 200 and epochs["cifar+10", "arpl_cs"] == 100
    assert {one["data"]: one["also"] for one in jobs} == {"svhn": [], "cifar+10": ["cifar+50"]}
    assert {one["epochs"] for one in recognition_gpu.jobs_of(given | {"epochs": 7})} == {7}


def test_the_commands_of_the_page_lead_from_official_files_to_the_table(tmp_path, openset):
    """Those of the page about OpenAUC, with as little to compute as there can be."""
    official = tmp_path / "official"
    official.mkdir()
    for write in (mnist, svhn, cifar, tinyimagenet):
        write(official)
    small = ["--epochs", "1", "--device", "cpu", "--precision", "float32", "--processes", "1"]
    small += ["--network", "classifier8", "--trials", "0"]
    for line in lines("openauc"):  # each: a line that nothing leads to would fail here
        program, *words = shlex.split(line)
        if program == "openset":
            said = openset(*words)
            assert said.code == 1 and "there   official/t10k-images" in said.out
            assert "wrong   official/cifar-10-batches-bin/test_batch.bin" in said.out  # so few
            continue
        assert program == "python"
        given = [sys.executable, EXAMPLE.parents[1] / words[0], *words[1:]]
        given += small if words[0].endswith("recognition_gpu.py") else []
        done = subprocess.run(given, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    page = (tmp_path / "table-2.md").read_text("utf-8")
    whole, *tables = re.split(r"^\| method \| trials \|", page, flags=re.M)
    assert "| method | mnist | svhn | cifar10 | cifar+10 | cifar+50 | tinyimagenet |" in whole
    cell = r" \d+\.\d\d \(\d\d\.\d\) \|"
    assert len(re.findall(rf"^\| \S+ \|{6 * cell}$", whole, re.M)) == 8, whole
    assert len(tables) == 6  # and what each data set says, eight methods each
    assert all(len(re.findall(r"^\| \S.* \| 1 \|", each, re.M)) == 8 for each in tables)


def test_a_folder_without_the_data_is_noticed_once(tmp_path):
    given = [sys.executable, EXAMPLE, "cifar10", "--folder", tmp_path, "--rows", tmp_path / "rows"]
    done = subprocess.run(given, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("OS810") == 1, done.stderr
    assert "--folder" in done.stderr and "Traceback" not in done.stderr


def row(method, trial, openauc, **more):
    about = {"data": "cifar10", "epochs": 114, "device": "a card", "size": 0, "images": 0}
    about |= {"network": "", "precision": "bfloat16", "left_out": []}
    numbers = {"openauc_by_probability": openauc - 1, "auc": 90.0, "accuracy": 95.0}
    return about | {"method": method, "trial": trial, "openauc": openauc} | numbers | more


def paged(tmp_path, rows, check=True):
    """The page of some rows, written by the script."""
    path = tmp_path / "rows.jsonl"
    if rows is not None:
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    given = [sys.executable, EXAMPLE.with_name("recognition_gpu_page.py"), path]
    given += ["--page", tmp_path / "made.md"]
    done = subprocess.run(given, capture_output=True, text=True, check=check)
    return (tmp_path / "made.md").read_text() if check else done


def test_what_a_table_says_follows_from_its_rows(tmp_path):
    rows = [row("ce_plus", t, 80.0 + t) for t in range(5)]
    rows += [row("openauc", t, 80.0 + t + 0.1 * (-1) ** t) for t in range(5)]
    rows += [row("openauc,weight=1", t, 70.0 + t + 0.1 * t) for t in (1, 3)]
    rows += [row("arpl", 2, 99.0)]
    page = paged(tmp_path, rows)
    assert "- OpenAUC is **not told from CE+**: +0.02 ± 0.14, above it in 3 of 5 trials." in page
    assert "- OpenAUC, weight 1 is **below CE+**: -9.80 ± 1.27, above it in 0 of 2 trials." in page
    assert "- ARPL less CE+: +17.00; one trial has no interval." in page
    assert "By the largest logit less by the largest probability: CE+ +1.00 ± 0.00," in page
    assert "ARPL +12.40" in page  # 99.0 less 86.6


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (None, "no such file"),
        ([], "has no row"),
        ([{"method": "ce_plus", "trial": 0}], "row 1 has no device, data"),
        ([3], "row 1 has no method"),
        ([row("resnet", 0, 80.0)], "no method 'resnet'; there are: "),
    ],
)
def test_rows_that_cannot_be_shown_are_refused(tmp_path, rows, says):
    done = paged(tmp_path, rows, check=False)
    assert done.returncode == 1 and says in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "made.md").exists()


def test_the_page_pairs_methods_by_trial_and_leaves_words_alone(tmp_path):
    trials = range(5)
    rows = [row("ce_plus", t, 80.0 + 3 * t) for t in trials]
    rows += [row("openauc,weight=0.2", t, 81.0 + 3 * t + 0.1 * (t % 2)) for t in trials]
    rows += [row("ce_plus", 0, 60.0, images=1000, left_out=[0, 1])]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    page = tmp_path / "page.md"
    page.write_text("# Words\n<!-- trainings -->\nold\n<!-- end -->\nremarks\n")
    script = EXAMPLE.with_name("recognition_gpu_page.py")
    subprocess.run([sys.executable, script, tmp_path / "rows.jsonl", "--page", page], check=True)
    text = page.read_text()
    assert text.startswith("# Words\n") and text.endswith("<!-- end -->\nremarks\n")
    assert "old" not in text
    assert (
        "| CE+ | 5 | 86.00 ± 4.24 | 85.00 ± 4.24 | 90.00 ± 0.00 | 95.00 ± 0.00 |  | 88.1 |" in text
    )
    assert "| OpenAUC, weight 0.2 | 5 | 87.04 ± 4.24 |" in text
    assert "| +1.04 ± 0.07 | 89.2 |" in text  # 0.0548 / √5 · 2.776
    assert "known classes 0, 1 taken for unknown" in text
    assert (
        "| CE+ | 1 | 60.00 | 59.00 | 90.00 | 95.00 |  |  |" in text
    )  # other data than the paper's


def test_the_page_on_cifar_is_of_the_rows_that_are_kept(tmp_path):
    root = EXAMPLE.parents[1]
    written = (root / "docs" / "results" / "recognition-cifar.md").read_text("utf-8")
    page = tmp_path / "page.md"
    page.write_text(written, "utf-8")
    rows = sorted((root / "experiments" / "results").glob("recognition_*.jsonl"))
    script = EXAMPLE.with_name("recognition_gpu_page.py")
    subprocess.run([sys.executable, script, *rows, "--page", page], check=True)
    assert page.read_text("utf-8") == written
