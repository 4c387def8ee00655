#!/usr/bin/env bash
# Usage: with.sh COMMAND [ARGUMENT...]
# Runs a command with a local AWS: its environment has up.sh's address and dummy
# credentials. Afterwards it stops an emulator that was not running before.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=env.sh
. "$(dirname "$0")/env.sh"

if [[ $# -eq 0 ]]; then
	echo 'usage: localstack/with.sh COMMAND [ARGUMENT...]' >&2
	exit 2
fi
if [[ -z ${AWS_ENDPOINT_URL:-} ]] && ! running; then
	trap '"$root/localstack/down.sh"' EXIT
fi
endpoint=$("$root/localstack/up.sh")
# The command must not reach the user's AWS account, so remove profiles, regions
# and addresses of services.
unset "${!AWS_@}"
export AWS_ENDPOINT_URL=$endpoint AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1
export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null
"$@"
