"""Workers on other machines: a `dask.distributed` scheduler as the surrounding joblib backend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from joblib import parallel_config
from joblib.parallel import get_active_backend


def _threads(client: Any) -> int:
    return int(sum(client.nthreads().values()))


def is_lost(error: BaseException) -> bool:
    """Whether an error says that the scheduler has gone: its futures are cancelled, or nobody listens any more."""
    home = type(error).__module__.partition(".")[0]
    names = {kind.__name__ for kind in type(error).__mro__}
    if home in ("distributed", "dask") and names & {"CommClosedError", "FutureCancelledError", "KilledWorker"}:
        return True
    return "CancelledError" in names and current_backend() == "dask"


def current_backend() -> str:
    """Name of the surrounding joblib backend."""
    backend: Any = get_active_backend()[0]
    return "dask" if type(backend).__name__ == "DaskDistributedBackend" else type(backend).__name__


@contextmanager
def dask_workers(address: str, *, timeout: float = 30.0) -> Iterator[int]:
    """Send the blocks of every `run` inside to the workers of a scheduler; yields the number of their threads.

    A worker that is lost does not matter: the scheduler gives its blocks to another one, and a block's results do not
    depend on who computes it. The driver alone writes the store. If the scheduler is lost the run ends with a
    `StoreError`; finished trials are kept.

    Parameters
    ----------
    address
        The scheduler, for example "tcp://10.0.0.1:8786".
    timeout
        Seconds to wait for it, and for its first worker.

    Raises
    ------
    ValueError
        If `distributed` is not installed, or the scheduler does not answer or has no workers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(
            "the backend 'dask' needs the package distributed, which is not installed: pip install 'exml-sim[dask]'"
        ) from None
    try:
        connect: Any = Client
        client = connect(address, timeout=timeout, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(f"no dask scheduler answers at {address}: {' '.join(str(error).split())}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=timeout)
        except TimeoutError:
            raise ValueError(f"the dask scheduler at {address} has no workers") from None
        threads = _threads(client)
        with client.as_current(), parallel_config(backend="dask", n_jobs=threads):
            yield threads
