# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by engine.sh. Dynoxide is a DynamoDB in Rust over SQLite (MIT or
# Apache-2.0). Building it from its crate takes some minutes.
version=3.2.0 # of the crate dynoxide-rs; the binary has a number of its own
tools=(cargo cc)
dynoxide=$engines/dynoxide-$version

install() {
	if [[ ! -x $dynoxide/bin/dynoxide ]]; then
		cargo install dynoxide-rs --version "=$version" --locked --jobs 2 --quiet \
			--no-default-features --features native-sqlite,http-server,cli --root "$dynoxide" >&2
	fi
}

serve() {
	exec env -i PATH="$PATH" HOME="$work" "$dynoxide/bin/dynoxide" --host 127.0.0.1 --port "$1"
}
