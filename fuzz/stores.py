"""Stores and other files under damage, kills, second writers and full disks: nothing is lost, nothing changes."""

from __future__ import annotations

import logging
import os
import resource
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from exml_sim._internal.columns import ColumnEncoding
from exml_sim.classifier._cascade import Cascade, Layer
from exml_sim.classifier._journal import Journal
from exml_sim.classifier._rejection_model import Frame, RejectionModel
from exml_sim.classifier._saved_model import Layout, SavedModel, load, save
from exml_sim.datasets.realdisp import CHANNELS, SENSORS, load_realdisp
from exml_sim.engine import Store, StoreError, Study, StudyResult, merge, run
from fuzz.case import HANG, Finding, check_message, expect
from simulations.falsify.counterexamples import read

_STRATEGIES = ["uniform_allocation", "median_elimination"]
_BERNOULLI = {"kind": "parametric", "means": [0.4, 0.5, 0.6]}
_ROWS = {"kind": "finite_support", "values": [[1, 0.5], [0.25, 0.75]], "y": [1, 1], "copies": [6, 4]}
_SAMPLED = {"pools": [_ROWS], "scores": [{"ball": 0.3}], "sampling": {"rows": "independent"}}
STUDIES: dict[str, dict[str, Any]] = {
    "monte_carlo": {"strategies": _STRATEGIES, "pools": [_BERNOULLI], "budgets": {"per_arm": [4]}, "trials": 8},
    "exact": {"strategies": _STRATEGIES, "pools": [_BERNOULLI], "budgets": {"per_arm": [4]}, "mode": "exact"},
    "importance_sampling": {
        **_SAMPLED,
        "strategies": _STRATEGIES[:1],
        "budgets": {"per_arm": [8]},
        "trials": 8,
        "mode": "importance_sampling",
    },
}
_JOURNAL = {"budget": "200", "table": "abc", "costs": {"ct": "5", "blood": "1.2"}}


@dataclass(frozen=True)
class Kind:
    """A kind of file: how one is written, and everything that a reader learns from it.

    ``schema``: a schema at the beginning is damaged more often. ``append``: lines are added, so that the beginning of
    a file is another whole file.
    """

    write: Callable[[Path], object]
    answer: Callable[[Path], Any]
    refusal: type[Exception] = ValueError
    schema: bool = False
    append: bool = False


def _store(name: str) -> Kind:
    def write(path: Path) -> None:
        run(Study.from_table(STUDIES[name]), store=path, n_jobs=1, progress=False).close()

    return Kind(write, _read_store, StoreError, schema=True)


def _read_store(path: Path) -> Any:
    with StudyResult.open(path) as result:
        facts = result.store.metadata, result.store.sessions(), result.cells, result.study, result.complete
        return (result.store.digest(), result.summary(), list(result.rows()), facts)


def _write_model(path: Path) -> None:
    rng, layers = np.random.default_rng(0), []
    for width, names in ((2, ()), (3, ("extra",))):
        frame = Frame(rng.normal(size=width), np.ones(width), "gaussian", 0.7)
        tables = (rng.normal(size=(4, width)), rng.normal(size=(4, 2)), rng.normal(size=(4, 2)))
        layers.append(Layer(RejectionModel(frame, *tables, 0.3), names))
    layout = Layout.of(rng.normal(size=(4, 2)))
    extra: dict[str, tuple[ColumnEncoding, ...]] = {"extra": (ColumnEncoding("extra", "number"),)}
    save(SavedModel(Cascade(tuple(layers)), np.array([0, 1]), 2, layout, extra), path)


def _read_model(path: Path) -> str:
    saved, parts = load(path), []
    for layer in saved.cascade.layers:
        model = layer.model
        assert isinstance(model, RejectionModel)
        tables = (model.frame.shift, model.frame.scale, model.anchors, model.u, model.w)
        facts = (model.frame.kernel, model.frame.gamma, model.theta, layer.candidates)
        parts.append((facts, [table.tobytes() for table in tables]))
    return repr((parts, saved.classes.tolist(), saved.hidden_label, saved.layout, saved.candidates))


def _write_rows(path: Path) -> None:
    rng = np.random.default_rng(2)
    views = {name: rng.normal(size=(3, len(CHANNELS))) for name in SENSORS[:2]}
    # To a file: numpy would add .npz to a name.
    with path.open("wb") as file:
        np.savez_compressed(file, y=np.array([1, 2, 3]), t=np.array([0.0, 0.02, 0.04]), **views)  # type: ignore[arg-type]


def _read_rows(path: Path) -> Any:
    data = load_realdisp(path)
    return {name: view.tolist() for name, view in data.views.items()}, data.y.tolist(), data.t.tolist()


def _write_journal(path: Path) -> None:
    journal, rng = Journal.open(_JOURNAL, path), np.random.default_rng(3)
    for candidate, width in (("ct", 2), ("blood", 1)):
        journal.record(candidate, [(row, rng.normal(size=width).tolist()) for row in range(0, 30, 3)])
    journal.give_up("ct", [4, 7])


def _read_journal(path: Path) -> Any:
    journal = Journal.open(_JOURNAL, path)
    return list(journal.values.items()), sorted(journal.lost)


def _write_counterexample(path: Path) -> None:
    path.write_bytes(Path("tests/counterexamples/lemma-2-i.toml").read_bytes())


KINDS: Mapping[str, Kind] = {
    **{name: _store(name) for name in STUDIES},
    "model": Kind(_write_model, _read_model),
    "rows": Kind(_write_rows, _read_rows),
    "journal": Kind(_write_journal, _read_journal, append=True),
    "counterexample": Kind(_write_counterexample, lambda path: repr(read(path))),
}


class Damage:
    """Flip bits and cut ends: the file is refused in one line, or read as if nothing had happened."""

    name, share, timeout, is_interruptible = "damage", 0.3, HANG, False

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(tempfile.mkdtemp(prefix="fuzz-"))
        self._whole: dict[str, bytes] = {}
        self._truth: dict[str, Any] = {}
        for name, kind in KINDS.items():
            path = self._folder / "whole"
            kind.write(path)
            self._whole[name] = path.read_bytes()
            path.unlink()
            self._truth[name] = kind.answer(self._place(name, self._whole[name]))

    @property
    def cases(self) -> st.SearchStrategy[dict[str, Any]]:
        """Strategy for a kind of file with flipped bits or a cut."""
        return st.sampled_from(list(KINDS)).flatmap(self._damages)

    def _damages(self, kind: str) -> st.SearchStrategy[dict[str, Any]]:
        size = len(self._whole[kind])
        bits = st.integers(0, 8 * size - 1)
        if KINDS[kind].schema:
            bits |= st.integers(0, 8 * 4096 - 1)
        # One bit is the hardest damage to notice.
        lists = st.integers(0, 4).flatmap(lambda number: st.lists(bits, min_size=1, max_size=1 if number else 8))
        flips = st.fixed_dictionaries({"kind": st.just(kind), "bits": lists})
        # An empty file is a new store, not a damaged one.
        cut = st.fixed_dictionaries({"kind": st.just(kind), "cut": st.integers(1, size - 1)})
        return st.integers(0, 24).flatmap(lambda number: cut if number == 0 else flips)

    def _place(self, kind: str, data: bytes) -> Path:
        for file in self._folder.glob("*"):
            file.unlink()
        path = self._folder / kind
        path.write_bytes(data)
        return path

    def _damage(self, case: Mapping[str, Any]) -> bytes:
        data = bytearray(self._whole[case["kind"]])
        for bit in case.get("bits", ()):
            data[bit // 8] ^= 1 << bit % 8
        return bytes(data[: case.get("cut", len(data))])

    def judge(self, case: Mapping[str, Any]) -> Counter[str]:
        """Check that the file is refused or unchanged, and that no byte of it is touched."""
        name, data = case["kind"], self._damage(case)
        kind, path, truth = KINDS[name], self._place(name, data), self._truth[name]
        torn = kind.append and "cut" in case
        if torn:
            truth = kind.answer(self._place(name, data[: data.rfind(b"\n") + 1]))
            self._place(name, data)
        outcome = expect(kind.refusal, lambda: kind.answer(path), truth)
        if name in STUDIES and outcome["refused"]:
            self._use_elsewhere(name)
        if not torn and path.read_bytes() != data:
            raise Finding("the damaged file was changed")
        return Counter({f"{name} {outcome_name}": number for outcome_name, number in outcome.items()})

    def _use_elsewhere(self, name: str) -> None:
        """Check that an unreadable store can be neither merged nor continued."""
        path = self._folder / name
        for action in (
            lambda: merge([path], self._folder / "merged"),
            lambda: run(Study.from_table(STUDIES[name]), store=path, progress=False),
        ):
            if expect(StoreError, action, None)["refused"] != 1:
                raise Finding("a damaged store was merged or continued")


def fork(action: Callable[[], object]) -> int:
    """Run an action in a copy of this process, which exits with 0, with 2 for a refusal, with 3 for anything else."""
    number = os.fork()
    if number:
        return number
    signal.setitimer(signal.ITIMER_PROF, 0)
    code = 3
    try:
        action()
        code = 0
    except StoreError as error:
        check_message(error)
        code = 2
    finally:
        os._exit(code)


def wait(number: int) -> int:
    """Return the exit code of a copy, or minus its signal."""
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


class Processes:
    """A run that is killed, meets a second writer or a full disk, in any order, and is continued at the end."""

    name, share, timeout, is_interruptible = "processes", 0.2, HANG, False
    modes = tuple(STUDIES)
    trials = 150

    def __init__(self) -> None:
        logging.disable(logging.WARNING)
        self._truth, self._seconds = {}, {}
        for mode in self.modes:
            with tempfile.TemporaryDirectory() as folder:
                self._run(mode, Path(folder) / "warm-up")
                start = time.monotonic()
                self._truth[mode] = self._finish(mode, Path(folder) / "store")
                self._seconds[mode] = time.monotonic() - start

    @property
    def cases(self) -> st.SearchStrategy[dict[str, Any]]:
        """Strategy for the steps of a store's life."""
        moment = st.floats(0, 1.1)
        size = st.integers(0, 18).map(lambda power: 3 * 2**power)
        step = st.one_of(
            st.tuples(st.just("kill"), moment), st.tuples(st.just("second"), moment), st.tuples(st.just("full"), size)
        )
        steps = st.lists(step.map(list), min_size=1, max_size=4)
        return st.fixed_dictionaries({"mode": st.sampled_from(self.modes), "steps": steps})

    def _run(self, mode: str, path: Path) -> None:
        table = STUDIES[mode] | ({} if mode == "exact" else {"trials": self.trials})
        run(Study.from_table(table), store=path, n_jobs=1, block=10, progress=False).close()

    def _finish(self, mode: str, path: Path) -> str:
        self._run(mode, path)
        with Store.read(path) as store:
            return store.digest()

    def judge(self, case: Mapping[str, Any]) -> Counter[str]:
        """Check that the continued store is the same to the bit, and that no other file is left."""
        mode, outcomes = case["mode"], Counter[str]()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "store"
            for kind, value in case["steps"]:
                codes = getattr(self, f"_{kind}")(mode, path, value)
                if not set(codes) <= {0, 2, -signal.SIGKILL}:
                    raise Finding(f"{kind} at {value}: the processes ended with {codes}")
                outcomes.update(f"{kind}: {'finished' if code == 0 else 'stopped'}" for code in codes)
            if self._finish(mode, path) != self._truth[mode]:
                raise Finding("the continued store differs from one that was never interrupted")
            left = [file.name for file in path.parent.iterdir() if file != path]
            if left:
                raise Finding(f"files are left behind: {left}")
        return outcomes

    def _kill(self, mode: str, path: Path, moment: float) -> list[int]:
        number = fork(lambda: self._run(mode, path))
        time.sleep(moment * self._seconds[mode])
        os.kill(number, signal.SIGKILL)
        return [wait(number)]

    def _second(self, mode: str, path: Path, moment: float) -> list[int]:
        first = fork(lambda: self._run(mode, path))
        time.sleep(moment * self._seconds[mode])
        codes = [wait(number) for number in (first, fork(lambda: self._run(mode, path)))]
        return codes if 0 in codes else [3]

    def _full(self, mode: str, path: Path, size: int) -> list[int]:
        def run_with_limit() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
            self._run(mode, path)

        return [wait(fork(run_with_limit))]
