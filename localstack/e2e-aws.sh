#!/usr/bin/env bash
# Deploys the limiter and an API to the AWS account of your credentials, checks
# what emulators cannot show, prints a report, and removes everything. It asks
# first, unless YES=1. With AWS_ENDPOINT_URL it runs against that emulator.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=env.sh
. "$(dirname "$0")/env.sh"

"$root/localstack/require.sh" go node
cat >&2 <<-'END'
	This creates two stacks with names that begin with sg-e2e-, a bucket, two tables and a log group in the account and
	region of your AWS credentials: a Lambda authorizer and a REST API, which anyone can call for some minutes. It costs
	less than a cent, and removes all of it at the end. It needs the rights of an administrator.
END
if [[ ${YES:-} != 1 ]]; then
	[[ -t 0 ]] || {
		echo 'e2e-aws: there is no terminal to ask on: set YES=1' >&2
		exit 1
	}
	read -r -p 'Go on? [y/N] ' answer
	[[ $answer == [yY]* ]] || exit 1
fi
cd "$root"
exec go test -count=1 -v -timeout 60m -tags e2e -run '^TestAccount$' ./localstack/e2e -account
