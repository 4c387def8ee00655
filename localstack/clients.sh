#!/usr/bin/env bash
# Installs what the examples in Python and TypeScript need, once, from PyPI and npm
# into .cache/clients/, and prints that directory. Its bin has Python, and its
# node_modules the SDK and the TypeScript compiler.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=env.sh
. "$(dirname "$0")/env.sh"

requirements=$root/localstack/clients-requirements.txt
pinned=$root/localstack/clients
home=$root/.cache/clients

if ! cat "$requirements" "$pinned/package-lock.json" | cmp -s - "$home/installed"; then
	"$root/localstack/require.sh" node npm
	install_packages "$home" "$requirements"
	cp "$pinned/package.json" "$pinned/package-lock.json" "$home"
	npm ci --prefix "$home" --ignore-scripts --no-audit --no-fund --loglevel=error >&2
	cat "$requirements" "$pinned/package-lock.json" >"$home/installed"
fi
echo "$home"
