"""Workers on other machines: a `dask.distributed` scheduler as the surrounding joblib backend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from joblib import parallel_config


def _threads(client: Any) -> int:
    return int(sum(client.nthreads().values()))


@contextmanager
def dask_workers(address: str, *, timeout: float = 30.0) -> Iterator[int]:
    """Send the blocks of every `run` inside to the workers of a scheduler; yields the number of their threads.

    A worker that is lost does not matter: the scheduler gives its blocks to another one, and a block's results do not
    depend on who computes it. The driver alone writes the store.

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
