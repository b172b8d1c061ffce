# In an environment made by `pip install -e '.[test]' --group dev`; each works alone.
PYTHON ?= python

build:        ; $(PYTHON) setup.py -q build_ext --inplace
test:         ; $(PYTHON) -m pytest
test-slow:    ; HYPOTHESIS_PROFILE=ci $(PYTHON) -m pytest -m "slow or hypothesis"
lint:         ; ruff check . && ruff format --check . && cython-lint ds_format && git ls-files -z | xargs -0 codespell && lint-imports && mypy && stubtest ds_format.kernels --mypy-config-file pyproject.toml
format:       ; ruff check --fix . && ruff format .
man:          ; $(PYTHON) -m ds_format.cli.help man
docs:         ; $(PYTHON) -m sphinx -W -n --keep-going docs docs/_build
bench:        ; $(PYTHON) -m benchmarks $(if $(OLD),--old '$(OLD)') $(ARGS)
figures:      ; $(PYTHON) -m benchmarks --shown --output report.json $(ARGS) && $(PYTHON) -m benchmarks.readme report.json
wheel:        ; $(PYTHON) -m pip wheel --no-deps -w wheels .
mutants:      ; $(PYTHON) tests/mutants.py $(ARGS)
house:        ; $(PYTHON) -m benchmarks.house
instructions: ; $(PYTHON) -m benchmarks.instructions $(ARGS)
bench-smoke:  ; $(PYTHON) -m benchmarks --smoke
clean:        ; rm -rf build dist docs/_build docs/_screenshots docs/gallery docs/jupyter_execute docs/python/generated *.egg-info `find ds_format -name "*.c" -o -name "*.so"`

.PHONY: build test test-slow lint format man docs bench figures wheel bench-smoke mutants house instructions clean
