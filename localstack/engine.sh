#!/usr/bin/env bash
# Usage: engine.sh ENGINE COMMAND [ARGUMENT...]
# where ENGINE is ministack or dynoxide.
# Runs a command as with.sh does, against one DynamoDB engine. It starts Dynoxide
# for this command alone, on a free port of 127.0.0.1, and stops it afterwards.
# ENGINE_PID is its process id, for measurements. The first run builds Dynoxide
# from its crate into .cache/engines, which takes some minutes.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=env.sh
. "$(dirname "$0")/env.sh"

version=3.2.0 # of the crate dynoxide-rs; the binary has a number of its own
engines=$root/.cache/engines
dynoxide=$engines/dynoxide-$version

if [[ $# -lt 2 ]]; then
	echo 'usage: localstack/engine.sh ENGINE COMMAND [ARGUMENT...]' >&2
	exit 2
fi
engine=$1
shift
unset "${!AWS_ENDPOINT_URL@}" # an emulator that runs already is not the engine asked for
case $engine in
ministack) exec "$root/localstack/with.sh" "$@" ;;
dynoxide) ;;
*)
	echo "engine: there is no engine called $engine: name ministack or dynoxide" >&2
	exit 2
	;;
esac

free_port() {
	"$(find_python)" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# start runs the engine and waits until it answers. It fails if the engine ends
# first or takes over 30 seconds.
start() {
	(cd "$work" && exec env -i PATH="$PATH" HOME="$work" "$dynoxide/bin/dynoxide" --host 127.0.0.1 --port "$port") \
		>"$work/log" 2>&1 </dev/null &
	pid=$!
	for ((i = 0; i < 300; i++)); do
		kill -0 "$pid" 2>/dev/null || return 1
		if answers "http://127.0.0.1:$port"; then
			return
		fi
		sleep 0.1
	done
	return 1
}

stop() {
	if [[ -n $pid ]]; then
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	fi
	pid=''
}

"$root/localstack/require.sh" python
if [[ ! -x $dynoxide/bin/dynoxide ]]; then
	"$root/localstack/require.sh" cargo cc
	cargo install dynoxide-rs --version "=$version" --locked --jobs 2 --quiet \
		--no-default-features --features native-sqlite,http-server,cli --root "$dynoxide" >&2
fi
mkdir -p "$engines"
pid='' work=$(mktemp -d "$engines/run.XXXXXX")
trap 'stop; rm -rf "$work"' EXIT

# Another process may take the free port first, so try three times.
for _ in 1 2 3; do
	port=$(free_port)
	if start; then
		AWS_ENDPOINT_URL=http://127.0.0.1:$port ENGINE_PID=$pid "$root/localstack/with.sh" "$@"
		exit
	fi
	stop
done
echo "engine: $engine does not answer; the end of its log:" >&2
tail -n 20 "$work/log" >&2
exit 1
