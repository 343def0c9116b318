"""demo: the embedded world, evaluated and reported."""


def test_demo_of_a_photo(openset, snapshot, here):
    from PIL import Image

    for _ in range(2):  # a second time, too
        done = openset("demo", "--photo")
        assert done.code == 0
    snapshot("demo/photo", done)
    with Image.open(here / "openset-demo" / "photo.png") as picture:
        assert min(picture.size) >= 960
    assert not (here / "openset-demo" / "run").exists()
    (boxes,) = openset("demo", "--photo", "--json").json["boxes"].values()
    kinds = [box["kind"] for box in boxes]
    assert set(kinds) == {"known", "unknown", "background"} and len(kinds) <= 6


def test_demo(openset, snapshot, here):
    done = openset("demo")
    assert done.code == 0
    snapshot("demo/demo", done)
    assert (here / "openset-demo" / "run" / "report.html").stat().st_size > 100_000
    command = next(line for line in done.out.splitlines() if line.startswith("next:"))
    again = openset(*command.removeprefix("next: openset ").split(), "-q")  # it tells no lies
    assert again.code == 0
