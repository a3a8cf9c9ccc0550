"""Bad input of every command: one line on standard error, exit code 2, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_main import call

POINT = "--K 8 --theta 0.1 --kappa-lambda 0.5 --gap 0.2"
_NO_POINT = "--theta, --kappa-lambda and --gap"
#: Options and a word of the message by command.
BAD: dict[str, list[tuple[str, str]]] = {
    "bound": [
        ("--K 8 --theta 0.6 --kappa-lambda 0.5 --gap 0.2 --budget 100", "theta < 1/2; missed by 0.1"),
        ("--K 8 --theta 0.1 --kappa-lambda 0.5 --gap 0.9 --budget 100", "gap <= Delta_max"),
        ("--K 8 --theta 0.1 --kappa-lambda 0.5 --gap 0 --budget 100", "gap > 0"),
        ("--K 8 --theta 0.1 --kappa-lambda 0.5 --budget 100", "either --gap"),
        ("--theta 0.1 --kappa-lambda 0.5 --gap 0.2 --budget 100", "give --K"),
        ("--budget 100", "give the parameters"),
        ("--K 8 --theta 0.1 --kappa-lambda 0.5 --gaps 0.1,0.2 --budget 100", "K - 1 = 7 numbers"),
        ("--K 8 --theta 0.1 --kappa-lambda 0.5 --gaps 0.1;0.2 --budget 100", "separated by commas"),
        (f"{POINT} --budget 0", "0 is not in the range"),
        (f"{POINT} --budget {10**20}", "not in the range"),
        ("--K 8 --theta 0.1 --kappa-lamda 0.5 --gap 0.2 --budget 5", "--kappa-lambda"),
    ],
    "claims": [("lemma-1i", "lemma-1-i")],
    "falsify": [
        ("lemma-1", "did you mean lemma-1-i"),
        ("", "give a CLAIM"),
        ("lemma-1-i --list", "or one of --list"),
    ],
    "plan": [
        ("--delta 0", "strictly between 0 and 1"),
        ("--delta 2 --K 8", "strictly between 0 and 1"),
        ("--theta 0.1", "--kappa-lambda"),
        ("--K 8", _NO_POINT),
        ("--theta 0.1 --kappa-lambda 1 --K 8", _NO_POINT),
        ("--gap 0", _NO_POINT),
        ("--kernel any", _NO_POINT),
        ("--population 50", _NO_POINT),
        ("--theta 0.1 --kappa-lambda 1 --K 3 --gap 0", "gap > 0"),
        ("--K 8 --store x.sqlite", "--store does not go with a plan from parameters"),
        ("--theta 0.7 --kappa-lambda 1 --gap 0.1 --K 3", "theta < 1/2"),
        ("--store nowhere.sqlite", "there is no store"),
        ("nowhere.toml", "nowhere.toml"),
        ("--trials 0", "--trials"),
        ("--pilot 9", "with a table"),
        ("--label y", "--label does not go with a plan from a pool"),
        *((f"{POINT} {option} 2", f"{option} does not go with") for option in ("--trials", "--seed", "--n-jobs")),
        *((f"--store s.sqlite {option} 2", f"{option} does not go") for option in ("--trials", "--seed", "--n-jobs")),
    ],
    "plot": [("nowhere.sqlite", "there is no store")],
    "report": [("nowhere.sqlite", "there is no store"), ("", "STORE"), ("x --quite", "--quiet")],
    "reproduce": [
        ("mfeat --configurations 51", "2 to 50 configurations, got 51"),
        ("mfeat --C -1", "got penalty=(-1.0, -1.0)"),
        ("realdisp", "realdisp needs --from"),
        ("realdisp --from no-such-file", "there is no file or directory no-such-file"),
        ("synthetic --divisions 3", "--divisions does not apply to synthetic"),
        ("synthetic --n-jobs 0", "n_jobs must be"),
    ],
    "study": [
        ("--seed -1", "--seed"),
        ("--seed x", "--seed"),
        ("--nonsense", "--nonsense"),
        ("--quick --out new/out --n-jobs 0", "n_jobs must be a positive whole number"),
        ("--quick --out new/out --n-jobs 0 --store s.sqlite", "n_jobs must be a positive whole number"),
        ("--quick --out new/out --replay 0 0 --json", "leave out --json"),
        ("--quick --out new/out --shard 3/2", "1 <= i <= n, got 3/2"),
        ("--quick --out new/out --shard half", "1 <= i <= n, got half"),
        ("--quick --out new/out --backend smoke", "--backend"),
        ("--quick --out new/out --backend dask", "--scheduler"),
    ],
    "verify": [("lemma-1i", "lemma-1-i"), ("--depth bottomless", "--depth"), ("--n-jobs 0 lemma-3", "n_jobs")],
}


@pytest.mark.parametrize(
    ("command", "options", "word"), [(command, *case) for command, cases in BAD.items() for case in cases]
)
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    options: str,
    word: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, command, *options.split())
    assert (code, out) == (2, "")
    assert word in err
    assert err.startswith("exml: ")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
