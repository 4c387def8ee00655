# shellcheck shell=bash disable=SC2034
# Sourced by the scripts beside it: where things are, and what they share.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.cache/ministack     # MiniStack and nothing else
# pid, endpoint, log and temporary files of the emulator that up.sh started
state=${LOCALSTACK_STATE:-$root/.cache/localstack}

# find_python prints a Python 3.10 or later: PYTHON, or the first on PATH.
find_python() {
	local candidate
	for candidate in ${PYTHON:-python3 python python3.14 python3.13 python3.12 python3.11 python3.10}; do
		if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
			echo "$candidate"
			return
		fi
	done
	return 1
}

# install_packages DIR REQUIREMENTS [OPTION...] makes a virtual environment anew,
# with the pinned packages and nothing else. The options are pip's.
install_packages() {
	local dir=$1 requirements=$2
	shift 2
	"$root/localstack/require.sh" python
	rm -rf "$dir"
	"$(find_python)" -m venv "$dir"
	"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --require-hashes --no-deps --no-compile "$@" \
		--requirement "$requirements" >&2
}

# answers reports whether an HTTP server answers at http://HOST:PORT, without
# curl. An emulator that tests keep busy may take many seconds.
answers() {
	local host=${1#http://} line
	host=${host%%/*}
	exec 3<>"/dev/tcp/${host%:*}/${host##*:}" || return 1
	printf 'GET /_localstack/health HTTP/1.0\r\nHost: %s\r\n\r\n' "$host" >&3
	read -r -t 60 line <&3
	exec 3>&-
	[[ $line == HTTP/* ]]
} 2>/dev/null

# running reports whether the emulator that up.sh started is alive. It checks the
# process name too, because process ids are reused.
running() {
	[[ -f $state/pid ]] && command_of "$(<"$state/pid")" | grep -q ministack
}

command_of() {
	if [[ -d /proc/self ]]; then
		tr '\0' ' ' <"/proc/$1/cmdline"
	else
		ps -p "$1" -o args=
	fi
} 2>/dev/null
