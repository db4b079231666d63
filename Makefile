# Two commands do all the set-up: `make demo` and `make test`. Both need only Python 3.11+, make, a C compiler and PyPI.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check

.PHONY: demo test test-long coverage lint docs bench fuzz corpus pictures clean
.SILENT:

demo: .venv/core
	mkdir -p build
	$(BIN)/dalembert report panda --seconds 60 -o build/panda.html
	echo "Next: open build/panda.html in a browser; then try $(BIN)/dalembert robots, or $(BIN)/dalembert --help."

test: lint
	echo "The test suite, on all cores, takes its time."
	$(BIN)/python -m pytest -n auto --dist loadgroup --tenths -m "not long"
	echo "Next: docs/quickstart.md; make test-long runs the rest, make docs builds the site, make bench measures speed."

# What takes long or needs more than Python: pages in a browser, the site, clusters of processes, long searches.
test-long: .venv/test
	$(BIN)/python -m pytest -n auto --dist loadgroup --tenths -m long

# Which lines the suite never runs.
coverage: .venv/test
	$(PIP) pytest-cov
	$(BIN)/python -m pytest -n auto --dist loadgroup --tenths -m "not long" --cov=dalembert --cov-report=term:skip-covered

# The site, in docs/_build/html; a warning is an error.
docs: .venv/docs
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs docs/_build/html
	echo "Next: open docs/_build/html/index.html in a browser."

# The pictures of README and site, made again: the report, the studio, M of an arm, speed beside others.
pictures: .venv/bench
	$(BIN)/python docs/make_pictures.py

.venv/docs: .venv/core
	$(PIP) -e '.[docs]'
	touch $@

lint: .venv/test
	$(BIN)/ruff check -q src tests benchmarks fuzz docs tools
	$(BIN)/ruff format -q --check src tests benchmarks fuzz docs tools
	$(BIN)/mypy --no-error-summary

bench: .venv/bench
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/compiler.py
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/equations.py
	$(BIN)/python benchmarks/ik.py
	$(BIN)/python benchmarks/closed_form.py
	$(BIN)/python benchmarks/constrained.py
	$(BIN)/python benchmarks/simulate.py
	$(BIN)/python benchmarks/identify.py
	$(BIN)/python benchmarks/excitation.py
	$(BIN)/python benchmarks/truth.py
	$(BIN)/python benchmarks/bounds.py
	$(BIN)/python benchmarks/float32.py

.venv/bench: .venv/test
	$(PIP) -e '.[bench]'
	touch $@

fuzz: .venv/test
	failed=0; \
	for fuzzer in "descriptions.py" "mjcf.py $(FOLDERS)" "logs.py" "graphs.py"; do \
		$(BIN)/python fuzz/$$fuzzer --seconds $(or $(SECONDS),600) || failed=1; \
	done; exit $$failed

# Every real URDF and MJCF of eleven packages, or of other folders: make corpus FOLDERS="a b"
corpus: .venv/test
	$(BIN)/python benchmarks/corpus.py $(FOLDERS)

.venv/core: pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Dalembert needs Python 3.11 or newer')"
	echo "Installing Dalembert into .venv"
	$(PYTHON) -m venv .venv
	$(PIP) -e .
	$(BIN)/python -m compileall -q src
	touch $@

.venv/test: .venv/core
	echo "Installing the tests' oracles into .venv: Pinocchio, MuJoCo and others, some hundred megabytes"
	$(PIP) -e '.[test]'
	touch $@

clean:
	rm -rf .venv build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
