"""The paper's experiments: their parts, their files, their command."""

from __future__ import annotations

import csv
import json
import re
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

from structrank import Stop
from structrank.cli import main
from structrank.reproduce.output import markdown, new_folder, write_about, write_table
from structrank.reproduce.scalability import scalability_problem
from structrank.reproduce.scs import SETTINGS, _frequency_error
from structrank.reproduce.ssr import COLUMNS, METHODS, ROWS, Case, found_order
from structrank.solvers import gcgls, padmm

PRINTED = Case("as printed", 4, normalization="nuclear", prices={"relax": 1.5, "reform2": 0.1})


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What `structrank reproduce all --quick` writes."""
    out = tmp_path_factory.mktemp("reproduce") / "results"
    done = CliRunner().invoke(main, ["reproduce", "all", "--quick", "--out", str(out)])
    assert done.exit_code == 0, done.output
    return out, done


@pytest.mark.xdist_group("reproduce")  # one worker makes the results
class TestCommand:
    def test_writes_figures_tables_and_settings(self, results):
        out, done = results
        written = {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}
        assert written == {
            *(f"ssr/ssr-{name}-4.png" for name in ("as-printed", "spectral", "well-posed")),
            "ssr/ssr-poles.png",
            *(
                f"ssr/ssr-{name}.{kind}"
                for name in ("tuning", "methods", "orders", "seeds")
                for kind in ("csv", "md")
            ),
            *(f"scs/scs-{name}.png" for name in ("rule", "solved", "weighted")),
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
        for case in ("as printed", "spectral", "well-posed"):
            mine = [row for row in rows if row["case"] == case]
            assert [row["method"] for row in mine] == [method.name for method in METHODS]
            assert float(mine[0]["times GCGLS"]) == 1.0
            for row in mine:
                assert 0 <= float(row["gap"]) <= 1
                assert float(row["peak MB"]) > 0

    def test_methods_of_one_formulation_agree(self, results):
        rows = rows_of(results[0] / "ssr" / "ssr-methods.csv")
        for formulation in ("relax", "reform2"):
            # Each objective and its gap enclose the one optimum.
            mine = [
                (float(r["objective"]), float(r["gap"]))
                for r in rows
                if r["case"] == "well-posed" and r["formulation"] == formulation
            ]
            assert max(f * (1 - gap) for f, gap in mine) <= min(f for f, _ in mine) * (1 + 1e-6)

    def test_folders_are_not_overwritten(self, results):
        out, _ = results
        before = (out / "scs" / "scs.csv").stat().st_mtime_ns
        done = CliRunner().invoke(main, ["reproduce", "all", "--quick", "--out", str(out)])
        assert done.exit_code == 1
        assert re.search(r"^Error: .*ssr exists.*--force", done.output)
        assert (out / "scs" / "scs.csv").stat().st_mtime_ns == before

    def test_force_replaces_one_experiment(self, results):
        out, _ = results
        stray = out / "scalability" / "stray.txt"
        stray.write_text("of an earlier run")
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
            pytest.raises(FileExistsError, match="is a file, but a folder"),
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
        assert set(json.loads((tmp_path / "about.json").read_text())) == {
            "settings",
            "versions",
            "machine",
        }


class TestRealisation:
    def test_the_printed_mu_gives_zero_and_the_certificate_proves_it(self):
        result = padmm(PRINTED.problem("relax"), stop=Stop(xtol=None, rtol=None, gap=1e-12))
        assert result.iterations == 0
        assert result.gap == pytest.approx(0, abs=1e-12)
        assert np.all(result.y == 0)

    def test_case(self):
        problem = PRINTED.problem("reform2")
        assert problem.mu == 0.1
        assert problem.structure.shape == (ROWS * 4, COLUMNS * 4)
        seen = problem.measure.weights > 0
        assert np.all(seen[:COLUMNS])
        assert not np.any(seen[COLUMNS:])
        np.testing.assert_array_equal(problem.b[:COLUMNS], PRINTED.covariances[1:])
        spectral = Case("spectral", 4)
        assert spectral.problem("relax").mu == spectral.problem("reform2").mu > 0
        assert np.linalg.norm(spectral.system.D, 2) == pytest.approx(1)

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

        by_name = {method.name: method for method in METHODS}
        for name in ("GCG", "GCGLS"):
            rising = ranks(by_name[name])
            assert max(rising[:2]) <= 1
            assert rising[-1] > 1
        for name in ("PADMM", "PADMM2", "DADMM2", "DPPA"):
            falling = ranks(by_name[name], factor=1.0)
            assert max(falling[:3]) == ROWS * 4
            assert falling[-1] < ROWS * 4

    def test_order(self):
        case = Case("well-posed", 4, order=3, spectral_radius=0.9, samples=20_000)
        problem = case.problem("reform2")
        stop = Stop(xtol=None, rtol=None, gap=1e-3)
        result = gcgls(problem, 1.0, penalty="difference", stop=stop)
        expected = np.count_nonzero(result.X.singular_values() > problem.mu / 100)
        assert found_order(result) == expected == 3


class TestOthers:
    def test_scalability_sizes(self):
        problem = scalability_problem(2)
        assert problem.structure.shape == (82, 400)
        assert problem.mu > 0

    def test_frequency_error_is_measured_on_the_circle(self):
        true, found = np.array([[0.49, 0.0]]), np.array([[-0.49, 0.01], [0.3, 0.3]])
        assert _frequency_error(true, found) == pytest.approx(0.02)

    def test_recover_gives_the_best_within_the_time(self):
        from structrank.applications.spectral import sinusoids

        sample = sinusoids((15, 15), 1, seed=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for setting in SETTINGS[:2]:
                result = setting.recover(setting.problem(sample), seconds=0.01)
                assert np.all(np.isfinite(result.y))
