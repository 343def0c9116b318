"""demo: the embedded world, evaluated and reported."""


def test_demo(openset, snapshot, here):
    done = openset("demo")
    assert done.code == 0
    snapshot("demo/demo", done)
    assert (here / "openset-demo" / "run" / "report.html").stat().st_size > 100_000
    command = next(line for line in done.out.splitlines() if line.startswith("next:"))
    again = openset(*command.removeprefix("next: openset ").split(), "-q")  # it tells no lies
    assert again.code == 0
