#!/bin/sh
# Builds the documentation site in build/site, by mkdocs in a separate environment: `make site`. A warning, such as a
# broken link, is an error. Arguments go to mkdocs (scripts/site.sh --quiet).
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
install_into "${SITE_VENV:-.venv-site}" '.[docs]'
export NO_MKDOCS_2_WARNING=1 # the theme's warning about another program of that name
exec "${SITE_VENV:-.venv-site}/bin/mkdocs" build --strict --site-dir build/site "$@"
