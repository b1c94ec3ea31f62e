# Works with GNU make 3.81 (macOS) and newer. Every target makes the environment first if it is missing.
SHELL := bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help setup book pdf zip export notebooks pretrained check test nightly serve set-url clean stage lint test-unit colab site

PYTHON ?= python3
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
VENV := .venv/bin
READY := .venv/.ready
STAGE := _build/book
SITE := _build/site

# The chapters in reading order, the copies of them that `make book` runs, and what else the site is made of.
CHAPTERS := $(wildcard $(addsuffix .ipynb,$(shell sed -n 's/^[ -]*file: *//p' _toc.yml)))
# What takes longest begins first, so that no processor waits at the end.
SLOW := $(foreach name,1-one-page 1-since-2017 1-launch 1-introduction 6-3-constituency-parsing \
  6-1-machine-translation 4-corpus 3-synthetic-corpus,$(filter %/$(name).ipynb,$(CHAPTERS)))
ORDER := $(SLOW) $(filter-out $(SLOW),$(CHAPTERS))
RAN := $(ORDER:%=$(STAGE)/%)
BROWSER := $(shell grep -l 'mark.browser\|pytestmark$$' tests/*/test_*.py)
PAGES := $(shell find book site -type f ! -name '*.ipynb' ! -path 'book/*.py' ! -path '*/__pycache__/*' ! -path '*/.*')

# Multi30k and WMT: the folder named by AIAYN_DATA, else one beside the checkout (as in CI), else downloaded.
AIAYN_DATA := $(or $(AIAYN_DATA),$(wildcard ../shared/data))
ifneq ($(AIAYN_DATA),)
AIAYN_DATA := $(shell cd "$(AIAYN_DATA)" 2>/dev/null && pwd || echo "$(AIAYN_DATA)")
export AIAYN_DATA
endif

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## Make the environment in .venv

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "The book needs Python 3.11 or newer; name one: make setup PYTHON=python3.12" >&2; exit 1; }
	@echo "Installing the environment in .venv (minutes, the first time)"
	@$(PYTHON) -m venv .venv
	@$(VENV)/python -m pip install --quiet -c constraints.txt -e ".[bench,book,test]"
	@touch $@

book: _build/html/index.html ## Run every chapter that changed and build the site in _build/html
	@echo "The book: _build/html/index.html"

# A chapter depends on its own text, on the package, and on the claims and results it reads. It runs in its folder,
# as an author or nbval would run it; what ran goes to the stage, so no tracked file changes. Which ones are due is
# written down, and one process runs them: it imports once what all of them import.
$(RAN): $(STAGE)/%: % $(READY) tools/execute_notebooks.py tools/kernel_pool.py book/data/claims.yml \
    $(wildcard aiayn/*.py aiayn/*/*.py aiayn/*/*/*.py aiayn/synthetic/grammar/*.tsv aiayn/visualization/static/* aiayn/weights/*/* book/runs/*) | stage
	@rm -f $@ && echo $< >> $(STAGE)/due

# The stage is the book with the chapters that ran in place of the tracked ones; all else in it is a link.
# (Built in the repository itself, jupyter-book would read every Markdown file of .venv.)
stage:
	@mkdir -p $(STAGE)
	@rm -f $(STAGE)/due
	@find $(STAGE) -type l -delete
	@ln -s "$(CURDIR)"/{_config.yml,_toc.yml,pyproject.toml,aiayn,site} $(STAGE)
	@for page in $(filter book/%,$(PAGES)); do \
	  mkdir -p "$(STAGE)/$${page%/*}" && ln -s "$(CURDIR)/$$page" "$(STAGE)/$$page"; done

# Always built whole: Sphinx repeats no warning of a page that it does not read again, so -W would pass then.
_build/html/index.html: $(RAN) $(PAGES) _config.yml _toc.yml | stage
	@rm -rf _build/html _build/.doctrees
	@touch $(STAGE)/due
	@OMP_NUM_THREADS=1 $(VENV)/python tools/execute_notebooks.py --to $(STAGE) --jobs $(JOBS) $$(cat $(STAGE)/due)
	@echo "All chapters ran; now their pages (a minute)"
	@$(VENV)/python tools/site.py $(STAGE) .
	@touch $@

pdf: book ## Print the book as _build/aiayn.pdf
	@$(VENV)/python tools/pdf.py _build/html _build/aiayn.pdf
	@echo "The book on paper: _build/aiayn.pdf"

zip: $(READY) ## Pack the notebooks as _build/aiayn-notebooks.zip
	@$(VENV)/python tools/notebooks_zip.py _build/aiayn-notebooks.zip
	@echo "The notebooks: _build/aiayn-notebooks.zip"

export: $(READY) ## Write the package aiayn/ from the book's tagged cells
	@$(VENV)/python -m aiayn.book export

notebooks: $(READY) ## Run every chapter in place, in order (for authors: changes book/)
	@OMP_NUM_THREADS=1 $(VENV)/python tools/execute_notebooks.py $(CHAPTERS)

pretrained: $(READY) ## Train the package's models of the synthetic corpus anew, or MODEL=en-de (90 minutes)
	@OMP_NUM_THREADS=$(if $(MODEL),2,1) $(VENV)/python tools/train_pretrained.py $(MODEL)

lint: $(READY)
	@printf '\n== Lint ==\n'
	@$(VENV)/ruff check . && $(VENV)/ruff format --check .
	@$(VENV)/oxlint --deny-warnings aiayn site
	@printf '\n== Types ==\n'
	@$(VENV)/mypy
	@printf '\n== Imports ==\n'
	@$(VENV)/lint-imports --no-cache --no-logo
	@printf '\n== The package is what the book says ==\n'
	@$(VENV)/python -m aiayn.book export --check

test-unit: $(READY)
	@printf '\n== Tests ==\n'
	@OMP_NUM_THREADS=1 $(VENV)/pytest -m "not browser and not colab and not nightly" -n $(JOBS) --dist loadfile

check: lint test-unit ## Check all but the chapters' runs and the site: lint, types, imports, export, tests

# First, side by side, what has use for one core alone.
test: $(READY) ## Check everything: also run every chapter, some as in Colab, and open the site in a browser
	@$(MAKE) --no-print-directory -j$(JOBS) colab lint site
	@$(MAKE) --no-print-directory test-unit
	@printf '\n== Chapters, run again and compared; beside them some alone, as Colab would run them ==\n'
	@OMP_NUM_THREADS=1 $(VENV)/pytest --nbval --nbval-current-env --nbval-cell-timeout=600 \
	  --nbval-sanitize-with tests/nbval.cfg -m "not nightly" -n $(JOBS) --dist loadscope --no-loadscope-reorder \
	  tests/book/test_colab.py $(ORDER)
	@printf '\n== Site in a browser ==\n'
	@OMP_NUM_THREADS=1 AIAYN_SITE=$(SITE)/_build/html $(VENV)/pytest -m "browser and not nightly" -n $(JOBS) \
	  --dist worksteal $(BROWSER)

nightly: $(READY) site ## Check what takes long: every chapter in Colab, every page, processes that are killed
	@OMP_NUM_THREADS=1 $(VENV)/pytest -m "nightly and not browser and not colab" -n $(JOBS) --dist loadfile
	@$(VENV)/pytest -m "colab and nightly" tests/book/test_colab.py
	@OMP_NUM_THREADS=1 AIAYN_SITE=$(SITE)/_build/html $(VENV)/pytest -m "browser and nightly" -n $(JOBS) $(BROWSER)
	@$(VENV)/python tools/train_pretrained.py --check

# pip takes a minute to make the environment that stands in for Colab; the tests of chapters in it find it there.
colab: $(READY)
	@printf '\n== An environment like that of Colab ==\n'
	@$(VENV)/pytest -m colab -k wheel tests/book/test_colab.py

site: $(READY) ## Build the site from the chapters as they are, without running them
	@printf '\n== Site of the tracked chapters ==\n'
	@rm -rf $(SITE) && mkdir -p $(SITE)
	@ln -s "$(CURDIR)"/{_config.yml,_toc.yml,pyproject.toml,aiayn,book,site} $(SITE)
	@$(VENV)/python tools/site.py $(SITE)

serve: book ## Show the book at http://127.0.0.1:8000
	@$(VENV)/python -m http.server --bind 127.0.0.1 --directory _build/html 8000

set-url: $(READY) ## Write the repository's address everywhere: make set-url URL=https://github.com/o/r
	@$(VENV)/python tools/set_url.py "$(URL)"

clean: ## Remove what was built (.venv stays)
	rm -rf _build .mypy_cache .ruff_cache
