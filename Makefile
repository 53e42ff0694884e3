# Two commands for a newcomer: `make rehearse` shows what the collection does, `make test` checks it in minutes.
# Python 3.8 or newer starts them; everything else they set up themselves below .cache.

# The first program that really is a Python: a name on PATH may be a shim that points nowhere.
FIND_PYTHON = for candidate in $$PYTHON python3 /usr/bin/python3 /usr/local/bin/python3 \
	python3.14 python3.13 python3.12 python3.11 python3.10 python3.9 python3.8 \
	$${PYENV_ROOT:-$$HOME/.pyenv}/versions/*/bin/python3; do \
	if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 8))' >/dev/null 2>&1; then break; fi; candidate=; done; \
	if [ -z "$$candidate" ]; then echo 'No Python 3.8 or newer was found. Install one, or name it: make PYTHON=/path/to/python3 ...' >&2; exit 1; fi
START = @export PYTHON='$(PYTHON)'; $(FIND_PYTHON); exec "$$candidate" tests/tools/start.py
PYTHON ?=

.DEFAULT_GOAL := help
.PHONY: help rehearse test test-all unit check checks format mutation lab lab-down bench docs pythons clean

help: ## list these commands
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18

rehearse: ## an event, a host and a fleet under maintenance, on a simulator on this machine (first run: a minute to set up)
	$(START) rehearse

test: ## what finds most mistakes soonest, in 10 minutes: ruff, mypy, unit tests, sanity, lint, docs, package, the rehearsal, one round of the playbook, one pass over real hosts (as root)
	$(START) test $(CHECKS)

test-all: ## everything else, in 45 minutes: all Pythons and cores, ten thousand examples, all paths, integration, coverage, the scenarios of the playbook and of real hosts
	$(START) test-all $(CHECKS)

unit: ## the unit tests, in a minute; ARGS="-k window" chooses
	$(START) nox unit $(if $(ARGS),-- $(ARGS))

check: ## one check alone: make check NAME="sanity-newest"; `make checks` lists the names
	$(START) nox '$(NAME)' $(if $(ARGS),-- $(ARGS))

checks: ## the names of all checks
	$(START) list

format: ## lay out every Python file as the check ruff wants it
	$(START) nox format

mutation: ## mutation testing of the pure files: killed and total for each
	$(START) nox mutation $(if $(ARGS),-- $(ARGS))

lab: ## real hosts that freeze, reboot and vanish: systemd, sshd and a metadata service each (root; HOSTS=6)
	$(START) lab up --hosts $(or $(HOSTS),6)

lab-down: ## take the lab down; nothing of it is left
	$(START) lab down

bench: ## what a task of ours costs beside ping and uri, the simulator's speed, and a plan; ARGS=discovery, overhead, host or lab: minutes, all but the first as root
	$(START) bench $(ARGS)

docs: ## build the site
	$(START) nox site

pythons: ## the Pythons of this machine
	$(START) pythons

clean: ## forget everything that was set up or built here; a lab is taken down first
	@if ls .cache/lab/labs/* > /dev/null 2>&1; then $(MAKE) --no-print-directory lab-down; fi
	rm -rf .cache .nox .mypy_cache .ruff_cache .pytest_cache .hypothesis tests/output *.tar.gz
