# Two commands do all the set-up: `make demo` and `make test`. Both need only Python 3.11+, make, a C compiler and PyPI.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check

PYTEST := $(BIN)/python -m pytest -n auto --dist loadgroup --tenths

.PHONY: demo test test-long nightly coverage lint docs bench bench-compare fuzz corpus pictures clean
.SILENT:

demo: .venv/core
	mkdir -p build
	$(BIN)/dalembert report panda --seconds 60 -o build/panda.html
	echo "Next: open build/panda.html in a browser; then try $(BIN)/dalembert robots, or $(BIN)/dalembert --help."

test: lint
	echo "Running the test suite on all cores: a few minutes."
	DALEMBERT_LLVM_LEVEL=0 $(PYTEST) -m "not long and not nightly" $(DELIVERED:%=--ignore=%)
	$(PYTEST) -m "not long and not nightly" $(DELIVERED)
	echo "Next: docs/quickstart.md; make test-long runs the rest, make docs builds the site, make bench measures speed."

# The tests that compare compiled code with its definition and with other libraries run at the level of optimization
# that users get. The other tests run at level 0, which compiles faster and computes the same bits.
DELIVERED := tests/compile tests/oracles

# Tests that take long or need more than Python: pages in a browser, the site, clusters of processes, long searches.
test-long: .venv/test
	$(PYTEST) -m "long and not nightly"

# Tests that repeat others with more robots, seeds or examples, the fuzzers with fresh seeds, the types of the cookbook,
# and its programs beside those of other libraries.
nightly: .venv/test .venv-peers/installed
	$(PYTEST) -m nightly
	$(MAKE) fuzz SECONDS=$(or $(SECONDS),120)
	$(BIN)/python tools/cookbook.py --types .venv-peers/bin/basedpyright
	$(BIN)/python benchmarks/compare_libraries.py --peers .venv-peers/bin/python

# An environment of its own for the programs of other libraries, so that their versions do not restrict ours.
.venv-peers/installed: benchmarks/cookbook_peers/requirements.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install -q --disable-pip-version-check -r $<
	touch $@

# Which lines the suite never runs.
coverage: .venv/test
	$(PIP) pytest-cov
	$(PYTEST) -m "not long and not nightly" --cov=dalembert --cov-report=term:skip-covered

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

# The speed of two checkouts beside each other: the newest tag and the working tree, or make bench-compare BASE=commit
bench-compare: .venv/test
	$(BIN)/python benchmarks/compare_checkouts.py $(if $(BASE),--base $(BASE)) --rounds $(or $(ROUNDS),5)

.venv/bench: .venv/test
	$(PIP) -e '.[bench]'
	touch $@

fuzz: .venv/test
	failed=0; \
	for fuzzer in "descriptions.py" "mjcf.py $(FOLDERS)" "logs.py" "graphs.py" "verdict.py"; do \
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
	rm -rf .venv .venv-peers build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
