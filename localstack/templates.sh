#!/usr/bin/env bash
# Installs what parses the templates of examples/attach, once, from PyPI into
# .cache/templates/, and prints that directory's Python.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=env.sh
. "$(dirname "$0")/env.sh"

requirements=$root/localstack/templates-requirements.txt
home=$root/.cache/templates

if ! cmp -s "$requirements" "$home/installed"; then
	install_packages "$home" "$requirements"
	cp "$requirements" "$home/installed"
fi
echo "$home/bin/python"
