"""completion: the script that lets a shell complete verbs and options."""

from __future__ import annotations

from typing import Literal

from openset.cli._app import verb
from openset.cli._console import Answer, Output

app = verb("completion", panel="Other")


@app.default
def completion(
    shell: Literal["bash", "zsh", "fish"],
    /,
    *,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Print the completion script of a shell.

    To use it now: source <(openset completion bash)

    Args:
        shell: The shell.
        output: How to speak.
    """
    from openset.cli._app import build, resolve
    from openset.cli._front import verbs
    from openset.findings import OpenSetError

    whole = build()
    for name in verbs():
        try:
            resolve(whole, name)
        except OpenSetError:  # what another package broke is in nobody's way
            del whole[name]
    script = whole.generate_completion(shell=shell)
    return Answer(script, lambda: {"shell": shell, "script": script})
