# Two commands do all the set-up: `make demo` and `make test`. Both need only Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint docs bench fuzz corpus clean

demo: .venv/core
	mkdir -p build
	$(BIN)/dalembert report panda --seconds 60 -o build/panda.html

test: lint
	$(BIN)/python -m pytest -n auto --dist loadgroup

# The site, in docs/_build/html; a warning is an error.
docs: .venv/docs
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

.venv/docs: .venv/core
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[docs]'
	touch $@

lint: .venv/test
	$(BIN)/ruff check src tests benchmarks fuzz docs
	$(BIN)/mypy

bench: .venv/bench
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/compiler.py
	$(BIN)/python benchmarks/equations.py
	$(BIN)/python benchmarks/ik.py
	$(BIN)/python benchmarks/closed_form.py
	$(BIN)/python benchmarks/constrained.py
	$(BIN)/python benchmarks/simulate.py
	$(BIN)/python benchmarks/identify.py
	$(BIN)/python benchmarks/excitation.py
	$(BIN)/python benchmarks/truth.py
	$(BIN)/python benchmarks/bounds.py

.venv/bench: .venv/test
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[bench]'
	touch $@

fuzz: .venv/test
	$(BIN)/python fuzz/descriptions.py --seconds $(or $(SECONDS),600)
	$(BIN)/python fuzz/graphs.py --seconds $(or $(SECONDS),600)

# Every real URDF of three packages through `dalembert check`; or of other folders: make corpus FOLDERS="a b"
corpus: .venv/test
	$(BIN)/python benchmarks/corpus.py $(FOLDERS)

.venv/core: pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Dalembert needs Python 3.11 or newer')"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	$(BIN)/python -m compileall -q src
	touch $@

.venv/test: .venv/core
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[test]'
	touch $@

clean:
	rm -rf .venv build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
