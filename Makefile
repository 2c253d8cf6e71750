# make run   sets up and recovers the paper's 2-D signal
# make test  sets up and runs all checks and tests
# make docs  sets up and builds the site, docs/_build/html/index.html
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test docs benchmarks clean

# One BLAS thread here and below: on small problems several are slower.
run: .venv/ready-run
	OPENBLAS_NUM_THREADS=1 $(BIN)/python examples/recover_2d.py

test: .venv/ready-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup -q

docs: .venv/ready-docs
	OPENBLAS_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -q -j 2 docs docs/_build/html
	@echo "docs/_build/html/index.html"

benchmarks: .venv/ready-test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.floor
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.accuracy
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.certified
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.paper_sizes
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.outliers
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.phase_transition --force
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.scaling
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.selection

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
	rm -rf .venv out .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf docs/_build docs/gallery docs/reference/generated docs/reference/backreferences
