"""Who computes the chunks of a batch: this thread, several threads, or the processes of a Dask cluster."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Union

from dalembert.compile.threads import checked
from dalembert.errors import InputError, MissingExtraError, WorkerError
from dalembert.flow import Array
from dalembert.simulation.plan import Packed, Piece, Plan, work

if TYPE_CHECKING:
    from distributed import Client

Threads = int | str | None
Scheduler = Union[str, "Client", None]
Cut = Callable[[int, int], dict[str, Array]]
AHEAD = 2  # chunks that wait beside each one at work: results do not pile up
# Of a cluster of our own: it is not looked into, and what looking costs is time of the same processors.
QUIET = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}
WAITING = 256 * 2**20  # bytes of results that may be on their way from a cluster


def compute_pieces(
    plan: Plan, total: int, chunk: int, cut: Cut, threads: Threads, scheduler: Scheduler
) -> Iterator[Piece]:
    """The chunks of rollouts 0 … total − 1 as they come, in any order."""
    ranges = [(first, min(chunk, total - first)) for first in range(0, total, chunk)]
    if scheduler is not None:
        yield from _clustered(plan, ranges, cut, scheduler, threads)
        return
    many = min(count_workers(threads, scheduler), len(ranges))
    if many <= 1:
        for first, count in ranges:
            yield plan.run(first, count, cut(first, count))
        return
    _ = plan.loop.ufunc  # compiled before the threads begin, once
    with ThreadPoolExecutor(many, "dalembert-batch") as pool:
        left, at_work = deque(ranges), set[Future[Piece]]()
        try:
            while left or at_work:
                while left and len(at_work) < many + AHEAD:
                    first, count = left.popleft()
                    at_work.add(pool.submit(plan.run, first, count, cut(first, count)))
                done, at_work = wait(at_work, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            for future in at_work:
                future.cancel()


def count_workers(threads: Threads, scheduler: Scheduler) -> int:
    """Workers at once, as far as it is known before they are asked: one thread, or all processors as processes, unless
    it is said."""
    return checked(("all" if scheduler is not None else 1) if threads is None else threads)


# ------------------------------------------------------------------------------------------------------------ Dask
def _distributed() -> ModuleType:
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("Dask's distributed is not installed: pip install 'dalembert[dask]'") from None
    found: ModuleType = distributed
    return found


@contextmanager
def client_of(scheduler: Scheduler, workers: Threads = None) -> Iterator[Client]:
    """A client of the cluster that is meant: an address, "local" for processes of this machine that end with the batch,
    or a client, which stays the user's."""
    dask = _distributed()
    if isinstance(scheduler, dask.Client):
        if workers is not None:
            raise InputError("threads= is for this machine: the client's cluster has the workers it has")
        yield scheduler
    elif scheduler == "local":
        options = {"n_workers": count_workers(workers, scheduler), "threads_per_worker": 1, "processes": True}
        with (
            import_module("dask").config.set(QUIET),
            dask.LocalCluster(**options, host="127.0.0.1", dashboard_address=None) as cluster,
            dask.Client(cluster) as client,
        ):
            yield client
    elif isinstance(scheduler, str):
        if workers is not None:
            raise InputError("threads= is for this machine: the cluster at an address has the workers it has")
        if "://" not in scheduler:
            raise InputError(f"on is 'local', an address like 'tcp://host:8786', or a client; got {scheduler!r}")
        try:
            client = dask.Client(scheduler, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(f"no Dask scheduler answers at {scheduler!r}: {error}") from None
        with client:
            yield client
    else:
        raise InputError(f"on is 'local', an address or a Dask client; got {type(scheduler).__name__}")


def _clustered(
    plan: Plan, ranges: list[tuple[int, int]], cut: Cut, scheduler: Scheduler, threads: Threads
) -> Iterator[Piece]:
    """As tasks. The plan is a task of its own, so that the cluster can make it again if the worker that has it is
    lost; so is every chunk."""
    dask = _distributed()
    packed = Packed.of(plan)
    with client_of(scheduler, threads) as client:
        # The bytes go to the scheduler once; the digest makes the same plan the same task.
        head = client.submit(Packed, packed.loop, packed.rest, packed.digest, key=f"plan-{packed.digest}")
        many = max(sum(client.nthreads().values()), 1)  # type: ignore[no-untyped-call]
        most = max(many * (1 + AHEAD), WAITING // plan.sent(max(count for _, count in ranges)))
        left, turn = deque(ranges), dask.as_completed(with_results=True)

        def send() -> None:
            """As many as may wait, in one message."""
            now = [left.popleft() for _ in range(min(most - turn.count(), len(left)))]
            if now:
                cuts = [pickle.dumps(cut(*part), protocol=5) for part in now]
                firsts, counts = zip(*now, strict=True)
                turn.update(client.map(work, [head] * len(now), firsts, counts, cuts, pure=False))

        send()
        try:
            for done in turn.batches():
                yield from (pickle.loads(result) for _, result in done)
                for future, _ in done:
                    future.release()
                send()
        except dask.KilledWorker as error:
            raise WorkerError(f"a chunk of the batch ended every worker that took it: {error}") from None
