"""Later: a call that runs beside the caller, on a thread, until its result is asked for.

Worth it for work that does not hold the interpreter: the compiled reader, NumPy on long columns.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Generic, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


class Later(Generic[T]):
    """A call under way.

    >>> Later(max, 1, 2).result()
    2
    """

    def __init__(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> None:
        self.failure: BaseException | None = None
        self._thread = Thread(target=self._run, args=(call, args, kwargs))
        self._thread.start()

    def _run(
        self, call: Callable[..., T], args: tuple[object, ...], kwargs: dict[str, object]
    ) -> None:
        try:
            self._value = call(*args, **kwargs)
        except BaseException as error:  # raised where asked for: Polars is interrupted in here, too
            self.failure = error

    def wait(self) -> None:
        """Wait until the call has ended, well or badly."""
        self._thread.join()

    def result(self) -> T:
        """Wait for the result; an exception of the call is raised here."""
        self.wait()
        if self.failure is not None:
            raise self.failure
        return self._value
