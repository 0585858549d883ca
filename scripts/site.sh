#!/bin/sh
# Builds the site of the documentation into build/site, by mkdocs in an environment of its own: `make site`.
# A warning, such as a link that leads nowhere, is an error. Arguments go to mkdocs (scripts/site.sh --quiet).
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
install_into "${SITE_VENV:-.venv-site}" '.[docs]'
export NO_MKDOCS_2_WARNING=1 # of the theme, about another program of that name
exec "${SITE_VENV:-.venv-site}/bin/mkdocs" build --strict --site-dir build/site "$@"
