"""Our training step beside torchvision's own: both are taken, and their trainings compared."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

import methods_page
import stock
import torch

from openset.detectors import find


def test_torchvisions_own_step_is_taken_and_given_back():
    torch.manual_seed(0)
    model = find("faster_rcnn").build(("a", "b"), device="cpu", backbone="small").train()
    box = torch.tensor([[4.0, 4, 40, 40]])
    batch = [torch.rand(3, 64, 64)], [{"boxes": box, "labels": torch.tensor([1])}]
    shifted = [{**batch[1][0], "labels": torch.tensor([2])}]
    found = []
    for losses in (lambda: model.network(batch[0], shifted), lambda: model(*batch)):
        torch.manual_seed(1)
        with stock.stock_step():
            found.append({name: loss.item() for name, loss in losses().items()})
    assert found[0] == found[1]
    assert type(model).forward.__qualname__ == "RegionModel.forward"


def test_trainings_that_are_there_are_not_done_again(tmp_path, monkeypatch):
    asked = []

    def learned(step, seed, *_):
        asked.append((step, seed))
        return {"step": step, "seed": seed, "ap_known": 0.7, "a_ose": 3.0}

    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"step": "base", "seed": 0}) + "\n", "utf-8")
    monkeypatch.setattr(stock, "learned", learned)
    monkeypatch.setattr("sys.argv", ["stock", f"--work={tmp_path}", f"--rows={rows}", "--seeds=0"])
    stock.main()
    assert asked == [("stock", 0)] and len(rows.read_text("utf-8").splitlines()) == 2


def test_the_page_says_how_they_differ():
    def row(step, seed, ap):
        return {"step": step, "seed": seed, "ap_known": ap, "a_ose": 100.0 + seed}

    rows = [row("base", 0, 0.70), row("base", 1, 0.72), row("stock", 0, 0.71)]
    assert methods_page.beside_stock(rows) == ""  # of one training nothing can be told
    said = methods_page.beside_stock([*rows, row("stock", 1, 0.73)])
    assert "(2 trainings, and 2 by ours" in said and "AP known changes by −1.0 pt [-" in said


def test_the_page_says_how_they_differ_on_photographs():
    methods = {step: {"runs": 2, "ap50_voc": [0.4, 0.41]} for step in ("base", "stock")}
    assert methods_page.stock_on_photographs({"base": methods["base"]}) == ""
    said = " ".join(methods_page.stock_on_photographs(methods).split())
    assert "(2 trainings by the same recipe, and 2 by ours), by ours AP50 on VOC changes by" in said
    assert "by 0.0 pt [-" in said
