# What takes more than the plain test command (scripts/test.sh).
#
#   make fast                            the unit tests, in parallel, without machines, servers and whole commands:
#                                        all of tests/ but the folders that scripts/fast.sh names and what is marked
#                                        machines, sshd or slow
#   make lint                            ruff, mypy, vermin
#   make test                            the plain tests
#   make differential                    random state trees, run by real Salt and by pushsalt, must come out equal
#   make differential EXAMPLES=5000      so many trees (default 300)
#   make differential SEED=7             the very trees of a run before, on any machine; each run says its seed
#   SHRINK=1 make differential           trees that hypothesis draws: it makes one with a difference small
#   make differential ARGS='-k filters'  more words for pytest
#   make differential-states             every case of tests/differential/cases, on machines; docs/states-compared.md from it
#   RECORD=digests make differential-states    none: the record holds for the code as it is now, after a run that was green
#   make differential-formulas           22 public formulas, on machines; docs/formulas-compared.md from it
#   make differential-formulas FORMULAS=DIR   with clones of them in DIR; else they are cloned from github.com
#   make differential-formulas ARGS='cron nginx -v'   some of them, nothing is recorded
#   make hostile                         a thousand commands of each kind against targets that speak the protocol wrongly
#   make constraints                     the versions that CI uses, in constraints.txt, anew
#   make pythons                         the unit tests by Python 3.10, with the lowest versions of what pushsalt needs, and
#                                        by the newest Python of this machine
#   make nonroot                         the unit tests by somebody who is not root (as root)
#   make coverage                        which lines and branches of pushsalt/ the unit tests, and those of whole commands
#                                        without machines, reach
#   make nightly                         all of these, and what else .ci/run has no time for
#   make docs                            the pages that are made from the code: modules, configuration, most-used-states, words, imports
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
