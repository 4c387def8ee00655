#!/usr/bin/env bash
# Usage: cdk.sh ARGUMENT...
# Runs the AWS CDK command line that package-lock.json pins, in the current
# directory. It is installed into .cache/ and not beside this file, because it
# contains Go templates that `go build ./...` would try to compile. cdk-nag comes
# with it, for a test. Its peers are in the CDK's Go packages.
set -euo pipefail
infra=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$infra/../.cache/cdk

if ! cmp -s "$infra/package-lock.json" "$cache/installed"; then
	"$infra/../localstack/require.sh" node npm
	rm -rf "$cache"
	mkdir -p "$cache"
	cp "$infra/package.json" "$infra/package-lock.json" "$cache"
	npm ci --prefix "$cache" --legacy-peer-deps --no-audit --no-fund --loglevel=error >&2
	cp "$infra/package-lock.json" "$cache/installed"
fi
export CDK_DISABLE_CLI_TELEMETRY=1
exec "$cache/node_modules/.bin/cdk" --no-notices "$@"
