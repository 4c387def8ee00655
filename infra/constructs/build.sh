#!/usr/bin/env bash
# Usage: build.sh [VERSION]
# Packs the construct for TypeScript and Python into dist/constructs: an npm
# tarball in js, a wheel in python. `make constructs` makes what it packs.
# It works in .cache/, because `go build ./...` would compile what Go files its
# packages have.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
work=$root/.cache/constructs
version=${1:-0.0.0}
template=$root/dist/files/template.json

for file in "$root"/infra/lambdas/zips/{authorizer,operations}_{arm64,amd64}.zip "$template"; do
	[[ -f $file ]] || {
		echo "build: $file is missing: run \`make constructs\`" >&2
		exit 1
	}
done
if ! cmp -s "$here/package-lock.json" "$work/installed"; then
	"$root/localstack/require.sh" node npm python
	rm -rf "$work"
	mkdir -p "$work"
	cp "$here/package.json" "$here/package-lock.json" "$work"
	npm ci --prefix "$work" --no-audit --no-fund --loglevel=error >&2
	cp "$here/package-lock.json" "$work/installed"
fi

cd "$work"
rm -rf src lib assets dist tsconfig.json
cp -R "$here/package.json" "$here/README.md" "$here/src" "$root/LICENSE" .
mkdir assets
cp "$root"/infra/lambdas/zips/*.zip "$template" assets
npm version "${version#v}" --no-git-tag-version --allow-same-version --loglevel=error >/dev/null

SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
export SOURCE_DATE_EPOCH JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1
node_modules/.bin/jsii >&2
node_modules/.bin/jsii-pacmak --targets js python >&2
rm -rf "$root/dist/constructs"
mkdir -p "$root/dist"
cp -R dist "$root/dist/constructs"
cd "$root" && ls dist/constructs/*/*
