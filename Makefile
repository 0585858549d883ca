# Commands for tests, checks and documentation. scripts/test.sh is the plain test command.
#
#   make fast                            the unit tests, in parallel, without machines, servers and whole commands:
#                                        all of tests/ except the folders that scripts/fast.sh names, and tests that
#                                        are marked machines, sshd or slow
#   make lint                            ruff, mypy, vermin, and the checks of tests/source
#   make test                            the plain tests
#   make differential                    random state trees, run by real Salt and by pushsalt, with equal results
#   make differential EXAMPLES=5000      the number of trees (default 300)
#   make differential SEED=7             the trees of an earlier run, on any machine; each run prints its seed
#   SHRINK=1 make differential           trees that hypothesis draws; it shrinks one with a difference
#   make differential ARGS='-k filters'  more words for pytest
#   make differential-states             every case of tests/differential/cases, on machines; docs/states-compared.md from it
#   PLAN=1 make differential-states      each run is planned before, and the plan is compared with it; no record
#   RECORD=digests make differential-states    no case: updates the record's digests, after a run without failures
#   make differential-formulas           22 public formulas, on machines; docs/formulas-compared.md from it
#   make differential-formulas FORMULAS=DIR   with clones of them in DIR; otherwise they are cloned from github.com
#   make differential-formulas ARGS='cron nginx -v'   some of them, nothing is recorded
#   make hostile                         a thousand commands of each kind against targets that speak the protocol wrongly
#   make constraints                     renews the versions in constraints.txt, which CI uses
#   make pythons                         the unit tests by Python 3.10, with the lowest versions of pushsalt's requirements, and
#                                        by the newest Python of this machine
#   make nonroot                         the unit tests as the user nobody (needs root)
#   make coverage                        which lines and branches of pushsalt/ all tests without machines reach
#   make nightly                         all of these, and others for which .ci/run has no time
#   make docs                            generates pages from the code: modules, configuration, most-used-states, words, imports
#   make site                            the documentation as a site, in build/site
#   make salt                            only install real Salt, into .venv-salt; nothing else of pushsalt uses it

EXAMPLES ?= 300
SEED ?=
ARGS ?=
FORMULAS ?=

.PHONY: fast lint test hostile docs site salt constraints pythons nonroot coverage nightly differential differential-states differential-formulas

fast:
	sh scripts/fast.sh $(ARGS)

lint:
	sh scripts/lint.sh
	.venv/bin/python -m pytest -q -n auto tests/source

test:
	sh scripts/test.sh $(ARGS)

hostile:
	PUSHSALT_HOSTILE='$(or $(filter-out 300,$(EXAMPLES)),1000)' sh scripts/test.sh tests/hostile $(ARGS)

docs:
	$${PYTHON:-python3} scripts/module_docs.py
	$${PYTHON:-python3} scripts/configuration_docs.py
	$${PYTHON:-python3} scripts/states_page.py
	$${PYTHON:-python3} scripts/words_docs.py
	$${PYTHON:-python3} scripts/import_graph.py

site:
	sh scripts/site.sh $(ARGS)

constraints:
	$${PYTHON:-python3.10} scripts/constraints.py renew

pythons:
	sh scripts/pythons.sh $(ARGS)

nonroot:
	sh scripts/nonroot.sh $(ARGS)

coverage:
	sh scripts/coverage.sh $(ARGS)

nightly: pythons nonroot coverage hostile differential differential-states

salt:
	sh scripts/salt-venv.sh

differential:
	EXAMPLES='$(EXAMPLES)' SEED='$(SEED)' sh scripts/differential.sh $(ARGS)

differential-states:
	sh scripts/differential-states.sh $(ARGS)

differential-formulas:
	FORMULAS='$(FORMULAS)' sh scripts/differential-formulas.sh $(ARGS)
