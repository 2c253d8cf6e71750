# make run      sets up and recovers the paper's 2-D signal
# make quick    the core, in less than a minute, while you work
# make test     all checks and tests, in less than 8 minutes on two cores
# make nightly  the same with the long checks, and which lines no test runs
# make browser  pages in a real browser, skipped where there is no Chromium
# make mutation changes the code in small ways and lists changes that no test notices
# make audit    known flaws of what is installed, from a list in the network
# make extras   the wheel in empty environments, with each extra alone
# make docs     sets up and builds the site, docs/_build/html/index.html
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadgroup -q

# One thread per process: on small problems several are slower.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1

.PHONY: run quick test nightly browser mutation audit extras docs benchmarks clean

run: .venv/ready-run
	$(BIN)/python examples/recover_2d.py

# Proves that the core is right: style, every structure against its index map, the objective and
# linear algebra against dense transcriptions, problems and their errors, the driver of solvers,
# small optima against a conic solver, one recovery, one file.
quick: .venv/ready-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(PYTEST) -m quick $$(grep -l "mark.quick" tests/test_*.py)

# Proves what a change must keep: style, types, layers; every solver against conic solvers and every
# bound at every iterate; array libraries, number types and containers; commands, files, pictures;
# all examples of docstrings and pages print what they say; the site builds without a warning.
test: .venv/ready-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST)

# Proves what takes long: all of the above, and measures which lines no test runs; then larger
# matrices and more draws (coverage of intervals, gross errors, holdout), 2000 examples per fuzz
# test, 30 moments of Ctrl-C per function, the long examples of the gallery.
nightly: .venv/ready-test
	$(PYTEST) --cov --cov-report=term
	$(PYTEST) -m nightly --durations=20

# Proves that pages work in a real browser, wide and narrow, light and dark: no errors on the
# console, nothing loaded from elsewhere, nothing sticks out. Needs Chromium.
browser: .venv/ready-test
	$(PYTEST) -rs -m "browser and not nightly" $$(grep -l "mark.browser" tests/test_*.py)

# Shows what the tests would not notice. `make mutation MODULE=structrank.systems.likelihood` tries one
# of the modules in pyproject.toml.
MODULE ?= structrank
mutation: .venv/ready-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "mutmut>=3.8,<4"
	$(BIN)/mutmut run "$(MODULE)*"
	$(BIN)/mutmut results

# Asks PyPI for known flaws of all packages in the environment, and fails if there is one. It
# needs the network, so no other target depends on it; a workflow runs it every night. Packages that
# PyPI does not know are a failure, too: nothing is known about them.
audit: .venv/ready-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip-audit>=2.9,<3"
	$(BIN)/pip-audit --strict --local --skip-editable --progress-spinner off

# Proves that each extra brings all that it needs: the wheel is built and installed into an empty
# environment per extra, where a few lines use it. It needs the network.
extras: .venv/ready-run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "build>=1.2"
	$(BIN)/python tests/extras_alone.py

docs: .venv/ready-docs
	$(BIN)/sphinx-build -W --keep-going -j 2 docs docs/_build/html
	@echo "docs/_build/html/index.html"

benchmarks: .venv/ready-test
	$(BIN)/python -m benchmarks.floor
	$(BIN)/python -m benchmarks.accuracy
	$(BIN)/python -m benchmarks.certified
	$(BIN)/python -m benchmarks.kalman
	$(BIN)/python -m benchmarks.paper_sizes
	$(BIN)/python -m benchmarks.outliers
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m benchmarks.phase_transition --force
	$(BIN)/python -m benchmarks.phase_transition --part peers
	$(BIN)/python -m benchmarks.scaling
	$(BIN)/python -m benchmarks.selection

.venv/ready-run: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[plot]"
	touch $@

.venv/ready-docs: .venv/ready-run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	touch $@

.venv/ready-test: .venv/ready-run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test]"
	touch $@

clean:
	rm -rf .venv out mutants .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage*
	rm -rf docs/_build docs/gallery docs/reference/generated docs/reference/backreferences
