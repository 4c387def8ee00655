#!/usr/bin/env bash
# Usage: engine.sh ENGINE COMMAND [ARGUMENT...]
# where ENGINE is ministack, dynoxide or dynamodb-local.
# Runs a command as with.sh does, against one DynamoDB engine. It starts Dynoxide
# or DynamoDB Local for this command alone, on a free port of 127.0.0.1, and
# stops it afterwards. ENGINE_PID is its process id, for measurements. The first
# run installs the engine into .cache/engines.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=env.sh
. "$(dirname "$0")/env.sh"

if [[ $# -lt 2 ]]; then
	echo 'usage: localstack/engine.sh ENGINE COMMAND [ARGUMENT...]' >&2
	exit 2
fi
engine=$1
shift
unset "${!AWS_ENDPOINT_URL@}" # an emulator that runs already is not the engine asked for

# Each file in engines/ defines `tools`, `install` and `serve PORT`. The last
# replaces its process by the engine, in the directory $work.
engines=$root/.cache/engines tools=()
case $engine in
ministack) exec "$root/localstack/with.sh" "$@" ;;
dynoxide | dynamodb-local)
	# shellcheck source-path=SCRIPTDIR source=engines/dynoxide.sh
	. "$root/localstack/engines/$engine.sh"
	;;
*)
	echo "engine: there is no engine called $engine: name ministack, dynoxide or dynamodb-local" >&2
	exit 2
	;;
esac

free_port() {
	"$(find_python)" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# start runs the engine and waits until it answers. It fails if the engine ends
# first or takes over 30 seconds.
start() {
	(cd "$work" && serve "$port") >"$work/log" 2>&1 </dev/null &
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

# exposed reports whether a process listens on a port beyond 127.0.0.1. It works
# where the system lists its sockets.
exposed() {
	local listening
	printf -v listening ':%04X 0+:0000 0A' "$1"
	grep -hE "$listening" /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -qv ' 0100007F:'
}

stop() {
	if [[ -n $pid ]]; then
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	fi
	pid=''
}

"$root/localstack/require.sh" python "${tools[@]}"
mkdir -p "$engines"
install
pid='' work=$(mktemp -d "$engines/run.XXXXXX")
trap 'stop; rm -rf "$work"' EXIT

# Another process may take the free port first, so try three times.
for _ in 1 2 3; do
	port=$(free_port)
	if ! start; then
		stop
		continue
	fi
	if exposed "$port"; then
		echo "engine: $engine listens on more than 127.0.0.1: it was stopped" >&2
		exit 1
	fi
	AWS_ENDPOINT_URL=http://127.0.0.1:$port ENGINE_PID=$pid "$root/localstack/with.sh" "$@"
	exit
done
echo "engine: $engine does not answer; the end of its log:" >&2
tail -n 20 "$work/log" >&2
exit 1
