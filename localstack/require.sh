#!/usr/bin/env bash
# Usage: require.sh TOOL...
# where TOOL is go, cc, node, npm, python, systemd or cargo.
# Names every tool that is missing or too old, and how to get it. Then exits 1.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=env.sh
. "$(dirname "$0")/env.sh"

failed=0
missing() { # what it is for, and how to get it
	echo "require: $1" >&2
	failed=1
}

for tool in "$@"; do
	case $tool in
	go)
		# From 1.21 on, the go command itself downloads the version in go.mod.
		command -v go >/dev/null || missing 'go is missing: install Go 1.26 or later from https://go.dev/dl'
		;;
	cc)
		command -v "${CC:-cc}" >/dev/null ||
			missing 'a C compiler is missing, which go test -race and Dynoxide need: install gcc or clang (apt install gcc, xcode-select --install)'
		;;
	node) # 20 works, but is out of support, and the CDK prints a banner about it
		if ! command -v node >/dev/null; then
			missing 'node is missing, which the AWS CDK runs on: install Node.js 22 or later from https://nodejs.org'
		elif ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'; then
			missing "node $(node --version) is too old for the AWS CDK: install Node.js 22 or later from https://nodejs.org"
		fi
		;;
	npm)
		command -v npm >/dev/null || missing 'npm is missing, which installs the AWS CDK: it comes with Node.js (apt install npm on Debian)'
		;;
	python)
		if ! python=$(find_python); then
			missing 'Python 3.10 or later is missing, which the local AWS runs on: install it (apt install python3 python3-venv), or name one by PYTHON'
		elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
			missing "$python has no venv module: install it (apt install python3-venv)"
		fi
		;;
	systemd) # it need not run
		command -v systemd-analyze >/dev/null || missing 'systemd-analyze is missing, which checks examples/systemd: install systemd 250 or later (apt install systemd)'
		;;
	cargo)
		if ! command -v cargo >/dev/null; then
			missing 'cargo is missing, which builds Dynoxide: install Rust 1.88 or later from https://rustup.rs'
		elif ! [[ $(cargo --version) =~ ^cargo\ ([0-9]+)\.([0-9]+) ]] || ((BASH_REMATCH[1] == 1 && BASH_REMATCH[2] < 88)); then
			missing "$(cargo --version) is too old for Dynoxide: install Rust 1.88 or later from https://rustup.rs"
		fi
		;;
	*)
		missing "there is no tool called $tool: name go, cc, node, npm, python, systemd or cargo"
		;;
	esac
done
exit $failed
