#!/usr/bin/env bash
# Starts a local AWS on a free port of 127.0.0.1 and prints its address on
# standard output. If AWS_ENDPOINT_URL names an emulator, it starts nothing.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=env.sh
. "$(dirname "$0")/env.sh"

if [[ -n ${AWS_ENDPOINT_URL:-} ]]; then
	answers "$AWS_ENDPOINT_URL" || {
		echo "up: nothing answers at AWS_ENDPOINT_URL=$AWS_ENDPOINT_URL: start that emulator, or unset the variable to have MiniStack started" >&2
		exit 1
	}
	echo "$AWS_ENDPOINT_URL"
	exit
fi
if running; then
	cat "$state/endpoint"
	exit
fi

# Recreate the virtual environment when the pinned packages change.
install() {
	install_packages "$venv" "$root/localstack/requirements.txt"
	cp "$root/localstack/requirements.txt" "$venv/installed"
}
cmp -s "$root/localstack/requirements.txt" "$venv/installed" || install

# start runs MiniStack in a new environment, because its Lambdas inherit it: no
# credentials or profiles of the user may reach them. They find MiniStack by
# AWS_ENDPOINT_URL.
start() {
	local port
	port=$("$venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	echo "http://127.0.0.1:$port" >"$state/endpoint"
	cd "$state"
	env -i PATH="$PATH" HOME="$state" TMPDIR="$state/tmp" \
		BIND_HOST=127.0.0.1 GATEWAY_PORT="$port" IOT_MTLS_ENABLED=0 AWS_ENDPOINT_URL="http://127.0.0.1:$port" \
		nohup "$venv/bin/ministack" >"$state/log" 2>&1 </dev/null &
	pid=$!
	echo "$pid" >"$state/pid"
}

# Another process may take the free port first, so try three times.
for _ in 1 2 3; do
	rm -rf "$state"
	mkdir -p "$state/tmp"
	start
	# On a busy machine the new process is not yet named ministack, so running
	# does not tell whether it lives.
	for ((i = 0; i < 600; i++)); do
		if ! kill -0 "$pid" 2>/dev/null; then
			wait "$pid" || echo "up: MiniStack ended with status $?" >&2
			break
		fi
		if answers "$(<"$state/endpoint")"; then
			cat "$state/endpoint"
			exit
		fi
		sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null || true
	"$root/localstack/down.sh"
done
echo "up: MiniStack does not answer; the end of its log ($state/log):" >&2
tail -n 20 "$state/log" >&2
exit 1
