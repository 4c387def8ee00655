#!/usr/bin/env bash
# Stops the local AWS that up.sh started, by its process id, and no other
# emulator.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=env.sh
. "$(dirname "$0")/env.sh"

if running; then
	kill "$(<"$state/pid")"
	for ((i = 0; i < 100; i++)); do
		running || break
		sleep 0.1
	done
	if running; then
		kill -KILL "$(<"$state/pid")"
	fi
fi
rm -f "$state/pid" "$state/endpoint"
rm -rf "$state/tmp"
