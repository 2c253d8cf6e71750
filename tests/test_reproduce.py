"""The paper's experiments: their parts, their files, their command."""

from __future__ import annotations

import csv
import json
import platform
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import nightly

from structrank import History, LowRank, Status, Stop, mu_max, sinusoids
from structrank.cli import main
from structrank.io import FileError
from structrank.io.atomic import new_folder
from structrank.reproduce.cases import PAPER, Case
from structrank.reproduce.comparison import (
    COMPARISON,
    Curve,
    comparison_rows,
    stopping_rule,
    tune,
)
from structrank.reproduce.methods import (
    GCG_PRINTED,
    GCG_SPARSE,
    GCGLS_PRINTED,
    GCGLS_SPARSE,
    METHODS,
    PenalizedMethod,
    RelaxedMethod,
)
from structrank.reproduce.output import markdown, write_about, write_table
from structrank.reproduce.scalability import DATA, SIZES, scalability_problem
from structrank.reproduce.scs import QUICK, SETTINGS, SIGNALS, _frequency_error, _summary, drawn
from structrank.reproduce.ssr import QUICK as SSR_QUICK
from structrank.reproduce.ssr import found_order
from structrank.solvers import gcgls
from structrank.solvers.conditional_gradient import gcgls_states
from structrank.solvers.driver import iterate
from structrank.solvers.rivals import padmm
from structrank.solvers.rivals.primal_admm import padmm_states

FEW = replace(COMPARISON, factors=(0.3, 3.0, 30.0))
PRINTED = Case("nuclear", 4, normalization="nuclear", prices={"relax": 1.5, "reform2": 0.1})


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What `structrank reproduce all --quick` writes, with fewer penalties, seeds and sizes."""
    out = tmp_path_factory.mktemp("reproduce") / "results"
    scs = replace(QUICK, seeds=1, run_seconds=0.3, printed_seconds=0.3)
    sizes = replace(SIZES, outputs=SIZES.outputs[:2])
    ssr = replace(SSR_QUICK, tuning_seconds=0.08, run_seconds=0.25)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("structrank.reproduce.ssr.tune", partial(tune, settings=FEW))
        patch.setattr("structrank.reproduce.ssr.QUICK", ssr)
        patch.setattr("structrank.reproduce.scs.QUICK", scs)
        patch.setattr("structrank.reproduce.scalability.SIZES", sizes)
        done = CliRunner().invoke(main, ["reproduce", "all", "--quick", "--out", str(out)])
    assert done.exit_code == 0, done.output
    return out, done


@pytest.mark.xdist_group("reproduce")  # one worker makes the results
class TestCommand:
    def test_writes_figures_tables_and_settings(self, results):
        out, done = results
        written = {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}
        assert written == {
            *(f"ssr/ssr-{name}-4.png" for name in ("nuclear", "spectral", "well-posed")),
            "ssr/ssr-poles.png",
            *(
                f"ssr/ssr-{name}.{kind}"
                for name in ("tuning", "methods", "orders", "seeds")
                for kind in ("csv", "md")
            ),
            *(f"scs/scs-{name}.png" for name in ("cosines", "exponentials")),
            *("scs/scs.csv", "scs/scs.md", "scs/scs-seeds.csv", "scs/scs-seeds.md"),
            *(f"scalability/scalability.{kind}" for kind in ("png", "csv", "md")),
            *(f"{name}/about.json" for name in ("ssr", "scs", "scalability")),
        }
        for path in out.rglob("*.png"):
            assert path.read_bytes().startswith(b"\x89PNG")
        about = json.loads((out / "ssr" / "about.json").read_text())
        assert about["settings"]["seeds"] == [0, 1]
        assert {"python", "numpy", "scipy", "structrank"} <= set(about["versions"])
        assert about["machine"]["cores"] >= 1
        assert (out / "ssr" / "ssr-methods.md").read_text() in done.output

    def test_every_method_is_compared(self, results):
        rows = rows_of(results[0] / "ssr" / "ssr-methods.csv")
        for case in ("nuclear", "spectral", "well-posed"):
            mine = [row for row in rows if row["case"] == case]
            found = [f"{row['method']}, {row['form']}" for row in mine]
            assert found == [method.label for method in METHODS]
            assert float(mine[found.index("GCGLS, default")]["times GCGLS"]) == 1.0
            for row in mine:
                # Thin factors are smaller than one dense matrix, the rivals hold several.
                dense = 84 * 400 * 8 / 2**20
                thin = row["method"] in ("GCG", "GCGLS")
                assert float(row["peak MB"]) > (dense / 4 if thin else 3 * dense)

    def test_methods_of_one_formulation_agree(self, results):
        rows = rows_of(results[0] / "ssr" / "ssr-methods.csv")
        mine = [row for row in rows if row["case"] == "well-posed"]
        for formulation, names in (
            ("relax", {"PADMM", "PADMM2", "DADMM2", "DPPA"}),
            ("reform2", {"GCGLS", "APG-SVT"}),
        ):
            found = [
                float(row["objective"])
                for row in mine
                if row["formulation"] == formulation and row["method"] in names
                if not row["form"].startswith("as printed")
            ]
            assert len(found) == len(names)
            assert max(found) <= 1.02 * min(found)

    def test_every_table_has_rows_as_printed_and_by_default(self, results):
        out, _ = results
        tables = ("ssr/ssr-methods", "ssr/ssr-orders", "ssr/ssr-seeds", "scalability/scalability")
        for table in (*tables, "scs/scs", "scs/scs-seeds"):
            forms = {row["form"] for row in rows_of(out / f"{table}.csv")}
            assert {"as printed", "default"} <= forms
            both_C = table in ("ssr/ssr-methods", "ssr/ssr-orders")
            assert ("as printed, C_sp" in forms) == both_C

    def test_rows_as_printed_say_what_they_ran(self, results):
        out, _ = results
        rows = rows_of(out / "ssr" / "ssr-methods.csv") + rows_of(
            out / "scalability" / "scalability.csv"
        )
        for row in rows:
            if row["form"].startswith("as printed"):
                assert row["step"] == "eta = 2/(k+1), one pair"
                assert row["stops at"] == "the paper's rule, 120 s"
                assert row["ended"] in ("SMALL_STEP", "SMALL_CHANGE", "MAX_ITERATIONS")
                assert row.get("start", "ones") == "ones"
                assert int(row["iterations"]) <= 100
        assert {row["stops at"] for row in rows if "case" in row and row["form"] == "default"} == {
            "gap 0.001, 0.25 s, 5000 iterations"
        }

    def test_both_readings_of_the_sinusoids(self, results):
        rows = rows_of(results[0] / "scs" / "scs-seeds.csv")
        assert {(row["signal"], row["true rank"]) for row in rows} == {
            ("six cosines", "12"),
            ("six exponentials", "6"),
        }
        for row in rows_of(results[0] / "scs" / "scs.csv"):
            ours = row["not printed"].split(", ")
            assert ("B" in ours) == (row["B"] != "difference")
            assert ("step" in ours) == (row["form"] == "default")

    def test_folders_are_not_overwritten(self, results):
        out, _ = results
        before = (out / "scs" / "scs.csv").stat().st_mtime_ns
        done = CliRunner().invoke(main, ["reproduce", "all", "--quick", "--out", str(out)])
        assert done.exit_code == 1
        assert re.search(r"^Error: .*ssr exists.*--force", done.output)
        assert (out / "scs" / "scs.csv").stat().st_mtime_ns == before

    def test_force_replaces_one_experiment(self, results, monkeypatch):
        out, _ = results
        stray = out / "scalability" / "stray.txt"
        stray.write_text("of an earlier run")
        sizes = replace(SIZES, outputs=SIZES.outputs[:1])
        monkeypatch.setattr("structrank.reproduce.scalability.SIZES", sizes)
        arguments = ["reproduce", "scalability", "--quick", "--force", "--quiet", "--out", str(out)]
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0
        assert done.output == f"scalability: written to {out / 'scalability'}\n"
        assert not stray.exists()
        assert (out / "scalability" / "scalability.csv").exists()

    def test_help_has_examples(self):
        done = CliRunner().invoke(main, ["reproduce", "--help"])
        assert done.exit_code == 0
        assert "structrank reproduce all --quick" in done.output

    def test_a_place_that_cannot_be_written(self, tmp_path):
        (tmp_path / "file").write_text("a file")
        for out in (tmp_path / "file", tmp_path / "file" / "below"):
            done = CliRunner().invoke(main, ["reproduce", "scs", "--quick", "--out", str(out)])
            assert done.exit_code == 1
            assert done.output.startswith("Error: ")
            assert "choose another" in done.output

    def test_without_matplotlib(self, monkeypatch, tmp_path):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        out = tmp_path / "out"
        done = CliRunner().invoke(main, ["reproduce", "scs", "--quick", "--out", str(out)])
        assert done.exit_code == 1
        assert 'pip install "structrank[plot]"' in done.output
        assert not out.exists()

    @pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (MemoryError, 1)])
    def test_nothing_is_left_of_a_run_that_was_cut_short(self, monkeypatch, tmp_path, error, code):
        def cut_short(folder, **_):
            (folder / "half.txt").write_text("half")
            raise error

        monkeypatch.setattr("structrank.reproduce.reproduce_scs", cut_short)
        arguments = ["reproduce", "scs", "--out", str(tmp_path / "new" / "results")]
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == code
        assert len(done.stderr.splitlines()) == 1
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
    def test_nothing_is_left_of_a_run_that_was_ended(self, tmp_path):
        script = (
            "import time\n"
            "from structrank import cli, reproduce\n"
            "def slow(folder, **_):\n"
            "    (folder / 'half.txt').write_text('half')\n"
            "    print('begun', flush=True)\n"
            "    time.sleep(60)\n"
            "reproduce.reproduce_scs = slow\n"
            "cli.main(['reproduce', 'scs', '--out', 'new/results'])\n"
        )
        command = [sys.executable, "-c", script]
        with subprocess.Popen(command, cwd=tmp_path, stdout=-1, stderr=-1) as process:
            assert process.stdout.readline() == b"begun\n"
            assert list(tmp_path.rglob("half.txt"))
            process.terminate()
            assert process.wait(30) == 143
            assert process.stderr.read() == b""
        assert list(tmp_path.iterdir()) == []

    def test_unknown_experiment(self):
        done = CliRunner().invoke(main, ["reproduce", "everything"])
        assert done.exit_code == 2
        assert "'everything' is not one of" in done.output


class TestOutput:
    def test_nothing_is_left_of_a_failed_run(self, tmp_path):
        def fail_midway():
            with new_folder(tmp_path / "out") as folder:
                (folder / "half.txt").write_text("half")
                raise RuntimeError("midway")

        with pytest.raises(RuntimeError, match="midway"):
            fail_midway()
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
    def test_folders_made_for_it_go_as_well(self, tmp_path, error):
        (tmp_path / "there").mkdir()
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "file.txt").write_text("stays")

        def fail(out):
            with new_folder(tmp_path / out) as folder:
                (folder / "half.txt").write_text("half")
                raise error

        for out in ("new/deep/out", "there/new/out", "full/out"):
            with pytest.raises(error):
                fail(out)
        left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
        assert left == {"there", "full", "full/file.txt"}

    def test_others_may_use_the_folders_made_for_it(self, tmp_path):
        def fail():
            with new_folder(tmp_path / "results" / "out"):
                (tmp_path / "results" / "other").mkdir()
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()
        assert [path.name for path in (tmp_path / "results").iterdir()] == ["other"]

    def test_an_old_folder_comes_back_if_the_new_one_cannot_take_its_place(
        self, tmp_path, monkeypatch
    ):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "old.txt").write_text("old")
        rename = Path.rename

        def fail(path, target):
            if ".partial-" in path.name:
                raise KeyboardInterrupt
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", fail)
        with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "out", force=True):
            pass
        assert [path.name for path in tmp_path.rglob("*")] == ["out", "old.txt"]

    def test_a_failed_run_leaves_the_old_folder(self, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "old.txt").write_text("old")
        with pytest.raises(RuntimeError), new_folder(tmp_path / "out", force=True):
            raise RuntimeError
        assert (tmp_path / "out" / "old.txt").read_text() == "old"
        assert len(list(tmp_path.iterdir())) == 1

    def test_a_file_in_the_way(self, tmp_path):
        (tmp_path / "out").write_text("a file")
        with (
            pytest.raises(FileError, match="is a file, but a folder"),
            new_folder(tmp_path / "out", force=True),
        ):
            pass

    def test_tables(self, tmp_path):
        rows = [{"name": "a", "value": 1 / 3}, {"name": "bc", "value": None}]
        text = write_table(tmp_path / "table", rows)
        assert text == markdown(rows) == (tmp_path / "table.md").read_text()
        assert text.splitlines() == [
            "| name | value  |",
            "|------|--------|",
            "| a    | 0.3333 |",
            "| bc   | -      |",
        ]
        read = rows_of(tmp_path / "table.csv")
        assert float(read[0]["value"]) == 1 / 3
        assert read[1]["value"] == ""

    def test_about_holds_no_path_or_name_of_the_user(self, tmp_path):
        write_about(tmp_path, {"experiment": "x"})
        text = (tmp_path / "about.json").read_text()
        assert set(json.loads(text)) == {"settings", "versions", "machine"}
        assert str(Path.home()) not in text
        assert platform.node() not in text

    def test_a_folder_that_appears_meanwhile_stays(self, tmp_path):
        def work():
            with new_folder(tmp_path / "out") as folder:
                (folder / "new.txt").write_text("new")
                (tmp_path / "out").mkdir()
                (tmp_path / "out" / "precious.txt").write_text("precious")

        with pytest.raises(FileError):
            work()
        assert (tmp_path / "out" / "precious.txt").read_text() == "precious"

    def test_a_linked_folder_is_replaced_where_it_is(self, tmp_path):
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        with new_folder(tmp_path / "link", force=True) as folder:
            (folder / "new.txt").write_text("new")
        assert (tmp_path / "real" / "new.txt").exists()
        assert {path.name for path in tmp_path.iterdir()} == {"real", "link"}

    def test_a_result_that_was_cut_short_is_not_published(self):
        def interrupt(state):
            raise KeyboardInterrupt

        problem = PRINTED.problem("relax")
        method = RelaxedMethod("PADMM", padmm_states)
        with pytest.raises(KeyboardInterrupt):
            method.run(problem, ones=True, stop=Stop(), callback=interrupt)


def made_up(method, seconds, objectives, formulation="relax", gap=0.0):
    """A curve with a given history."""
    history = History(time=list(seconds), objective=list(objectives), violation=[0.5])
    result = SimpleNamespace(
        history=history,
        objective=min(objectives),
        gap=gap,
        rank=3,
        iterations=len(objectives) - 1,
        problem=SimpleNamespace(mu=0.5),
        status=Status.SOLVED,
    )
    kind = {"relax": RelaxedMethod, "reform2": PenalizedMethod}[formulation]
    return Curve(kind(method, padmm_states), result, {0: 7, 3: 4}, peak_bytes=2**21)


PRINTED_RUN = {
    "GCGLS": {"step": "paper", "pairs": 1, "penalty": "difference"},
    "GCG": {"step": "paper", "pairs": 1, "penalty": "difference", "search_steps": 0},
}


class TestFigures:
    def test_time_to_an_objective_is_that_of_the_first_hit(self):
        curve = made_up("PADMM", [1.0, 2.0, 3.0, 4.0], [9.0, 5.0, 6.0, 4.0])
        assert curve.seconds_to(5.0) == 2.0
        assert curve.seconds_to(4.5) == 4.0
        assert curve.seconds_to(3.0) is None
        assert curve.last_rank == 4

    def test_comparison(self):
        ours = made_up("GCGLS", [0.1, 0.2, 0.3], [9.0, 2.01, 2.0], "reform2")
        rival = made_up("PADMM", [1.0, 2.0, 3.0], [9.0, 5.06, 5.04])
        best = made_up("DPPA", [1.0, 5.0], [9.0, 5.0])
        rows = comparison_rows(PRINTED, [ours, rival, best])
        assert [row["seconds to 1%"] for row in rows] == [0.2, 3.0, 5.0]
        assert [row["times GCGLS"] for row in rows] == pytest.approx([1.0, 15.0, 25.0])
        assert [row["peak MB"] for row in rows] == [2.0, 2.0, 2.0]
        assert [row["rank of H(y)"] for row in rows] == [4, 4, 4]
        assert [row["||B X||"] for row in rows] == [0.5, None, None]

    def test_objectives_with_another_C_are_not_compared(self):
        ours = made_up("GCGLS", [0.1, 0.2], [9.0, 2.0], "reform2")
        other = replace(made_up("GCGLS", [0.3, 0.4], [9.0, 1.0]), method=GCGLS_SPARSE)
        rows = comparison_rows(PRINTED, [ours, other])
        assert [row["seconds to 1%"] for row in rows] == [0.2, 0.4]

    def test_a_method_that_does_not_arrive(self):
        ours = made_up("GCGLS", [0.1, 0.2], [9.0, 2.0], "reform2")
        late, best = made_up("PADMM", [1.0], [9.0]), made_up("DPPA", [1.0], [5.0])
        row = comparison_rows(PRINTED, [ours, late, best])[1]
        assert row["seconds to 1%"] is None
        assert row["times GCGLS"] is None

    @pytest.mark.parametrize("settings", [FEW, nightly(COMPARISON)], ids=["few", "all"])
    def test_tuning_takes_the_fastest_factor(self, settings):
        case = Case("spectral", 4)
        factors, rows = tune(case, 0.1, settings)
        assert set(factors) == {"PADMM", "PADMM2", "DADMM2", "DPPA", "factored ADMM"}
        for row in rows:
            times = {f: row[f"seconds to 1% at {f:g}"] for f in settings.factors}
            reached = {f: t for f, t in times.items() if t is not None}
            if reached:
                assert row["chosen"] == min(reached, key=reached.get)

    def test_spectral_summary(self):
        rows = [
            {
                "signal": SIGNALS[0].name,
                "setting": SETTINGS[0].name,
                "error": error,
                "rank": rank,
                "true rank": 12,
                "gap": 0.1,
                "largest frequency error": 0.5,
                "ended": "MAX_TIME" if rank == 64 else "SMALL_CHANGE",
            }
            for error, rank in ((0.3, 12), (0.1, 64), (0.2, 12))
        ]
        others = [{**row, "signal": SIGNALS[1].name} for row in rows]
        summary = _summary(SIGNALS[0], SETTINGS[0], rows + others)
        assert (summary["least"], summary["median error"], summary["largest"]) == (0.1, 0.2, 0.3)
        assert summary["true rank found"] == 2
        assert summary["stopped by time"] == 1

    def test_stopping_rules_in_words(self):
        assert stopping_rule(Stop()) == "the paper's rule"
        assert stopping_rule(Stop(max_time=5)) == "the paper's rule, 5 s"
        gap = Stop(xtol=None, rtol=None, gap=1e-3)
        assert stopping_rule(gap) == "gap 0.001, 100 iterations"


class TestAsPrinted:
    @pytest.mark.parametrize(
        "method", [GCGLS_PRINTED, GCG_PRINTED, GCGLS_SPARSE, GCG_SPARSE], ids=lambda m: m.label
    )
    def test_it_is_algorithm_1_of_the_paper(self, method):
        """The literal arguments of the paper, whatever start and rule an experiment asks for."""
        problem = PRINTED.problem("reform2")
        seen = []
        stop = method.stop(Stop(max_iter=1, xtol=None, rtol=None, gap=1e-9))
        assert replace(stop, max_time=None) == Stop()
        result = method.run(problem, ones=False, stop=stop, callback=seen.append)
        start = LowRank.ones(problem.structure.shape, problem.b)
        recovery = "sparse" if method.form.endswith("C_sp") else "projection"
        options = {**PRINTED_RUN[method.name], "recovery": recovery}
        states = gcgls_states(problem, 1.0, start=start, stop=Stop(), **options)
        literal = iterate(states, problem, stop=Stop())
        assert result.history.objective == literal.history.objective
        assert result.status is literal.status
        np.testing.assert_allclose(seen[0].X.to_dense(), 1.0)

    def test_spectral_setting(self):
        """The paper's B, window and mu; only lam is ours."""
        setting = SETTINGS[0]
        assert (setting.penalty, setting.window, setting.mu) == ("difference", (8, 8), 0.1)
        assert setting.ours == "lam"
        sample = sinusoids((12, 12), 1, rng=0)
        problem, effort = setting.problem(sample), replace(QUICK, printed_seconds=60.0)
        stop = setting.stop(effort)
        assert replace(stop, max_time=None) == Stop()
        result = setting.recover(problem, stop)
        start = LowRank.ones(problem.structure.shape, problem.backprojection)
        options = PRINTED_RUN["GCGLS"]
        literal = iterate(gcgls_states(problem, 1 / 64, start=start, **options), problem)
        assert result.history.objective == literal.history.objective

    def test_complex_exponentials_have_half_of_the_modes(self):
        cosines, exponentials = (drawn(signal, QUICK, 0) for signal in SIGNALS)
        assert np.isrealobj(cosines.truth)
        assert np.iscomplexobj(exponentials.truth)
        assert (len(cosines.modes), len(exponentials.modes)) == (12, 6)


class TestRealisation:
    def test_the_printed_mu_gives_zero_and_the_certificate_proves_it(self):
        result = padmm(PRINTED.problem("relax"), stop=Stop(xtol=None, rtol=None, gap=1e-12))
        assert result.iterations == 0
        assert result.gap == pytest.approx(0, abs=1e-12)
        assert np.all(result.y == 0)

    def test_case(self):
        problem = PRINTED.problem("reform2")
        assert problem.mu == 0.1
        assert problem.structure.shape == (PAPER.rows * 4, PAPER.columns * 4)
        seen = problem.measure.weights > 0
        assert np.all(seen[: PAPER.columns])
        assert not np.any(seen[PAPER.columns :])
        np.testing.assert_array_equal(problem.b[: PAPER.columns], PRINTED.covariances[1:])
        spectral = Case("spectral", 4)
        assert spectral.problem("relax").mu == spectral.problem("reform2").mu > 0
        assert np.linalg.norm(spectral.system.A, 2) == pytest.approx(1)

    def test_rank_rises_from_below_and_falls_from_above(self):
        """Result 2 of the paper, on a small case."""
        case = Case("spectral", 4)

        def ranks(method, **options):
            found = []
            problem = case.problem(method.formulation)

            def count(state):
                lifted = problem.structure.to_dense(state.y)
                found.append(np.linalg.matrix_rank(lifted, 1e-3))

            stop = Stop(max_iter=40, xtol=None, rtol=None, gap=1e-3)
            method.run(problem, ones=True, stop=stop, callback=count, **options)
            return found

        by_name = {method.label.removesuffix(", tuned"): method for method in METHODS}
        for name in ("GCG, default", "GCGLS, default", "GCG, as printed", "GCGLS, as printed"):
            rising = ranks(by_name[name])
            assert max(rising[:2]) <= 1
            assert rising[-1] > 1
        for name in ("PADMM", "PADMM2", "DADMM2", "DPPA"):
            falling = ranks(by_name[name], factor=1.0)
            assert max(falling[:3]) == PAPER.rows * 4
            assert falling[-1] < PAPER.rows * 4

    def test_order(self):
        case = Case("well-posed", 4, order=3, spectral_radius=0.9, samples=50_000)
        problem = case.problem("reform2")
        stop = Stop(xtol=None, rtol=None, gap=1e-3)
        result = gcgls(problem, 1.0, penalty="difference", stop=stop)
        expected = np.count_nonzero(result.X.singular_values() > problem.mu / 100)
        assert found_order(result) == expected == 3


class TestOthers:
    def test_scalability_sizes(self):
        problem = scalability_problem(2)
        assert problem.structure.shape == (82, 400)
        assert problem.mu == pytest.approx(0.5 * mu_max(problem))
        for options in DATA.values():
            assert scalability_problem(2, **options).structure.shape == (82, 400)
        assert scalability_problem(2, **DATA["nuclear norm 1, mu = 0.1"]).mu == 0.1

    def test_frequency_error_is_measured_on_the_circle(self):
        true, found = np.array([[0.49, 0.0]]), np.array([[-0.49, 0.01], [0.3, 0.3]])
        assert _frequency_error(true, found) == pytest.approx(0.02)

    def test_recover_gives_the_best_within_the_time(self):
        effort = replace(QUICK, run_seconds=0.01, printed_seconds=0.01)
        sample = sinusoids((15, 15), 1, rng=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for setting in SETTINGS[:4]:
                result = setting.recover(setting.problem(sample), setting.stop(effort))
                assert np.all(np.isfinite(result.y))
