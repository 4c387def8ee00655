#!/usr/bin/env bash
# Usage: deploy.sh [ARGUMENT...]
# Deploys the sample stack, with examples/rules.yaml, to the local AWS, which it
# starts if none runs and leaves running. It prints the API's address, and a
# command that shows a denial. ARGUMENTs go to `cdk deploy`: `-c rules=FILE`
# deploys other rules. What it builds is in DIR, .cache/deployment by default.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=env.sh
. "$(dirname "$0")/env.sh"

"$root/localstack/require.sh" go node npm python
dir=${DIR:-$root/.cache/deployment}
goarch=$(go env GOARCH) # emulators run Lambdas on this machine
case $goarch in
amd64) architecture=x86_64 ;;
arm64) architecture=arm64 ;;
*)
	echo "deploy: Lambda has no architecture $goarch: run this on amd64 or arm64" >&2
	exit 1
	;;
esac
endpoint=$("$root/localstack/up.sh")
mkdir -p "$dir"
(
	cd "$root/infra"
	go run ./lambdazip -goarch "$goarch" -o "$dir" authorizer operations backend
	go build -o "$dir/app" .
) >&2

# with.sh keeps the user's account out of reach.
export AWS_ENDPOINT_URL=$endpoint
cdk() { "$root/localstack/with.sh" "$root/infra/cdk.sh" "$@" >&2; }
export CDK_VALIDATION=false # seconds for what the tests of infra have checked
(cd "$dir" && cdk bootstrap aws://000000000000/us-east-1) # where no cdk.json asks for the app to be run
# A process of a busy machine may need longer than the default of 250 ms.
(cd "$root/infra" && cdk deploy --app "$dir/app" --output "$dir/cdk.out" --outputs-file "$dir/outputs.json" --require-approval never \
	-c dist="$dir" -c architecture="$architecture" -c deadline=2s -c removal=destroy "$@")

api=$("$(find_python)" -c 'import json, sys; print(json.load(sys.stdin)["Slidegate"]["ApiId"])' <"$dir/outputs.json")
url=$endpoint/restapis/$api/prod/_user_request_ # the form that every emulator takes
cat <<END
$url

Eleven requests, of which the last is over the limit:

  for i in \$(seq 11); do curl -s -o /dev/null -w '%{http_code} ' $url/hello; done; echo

Commands find the tables by the stack: localstack/with.sh go run ./cmd/slidegate rules list --rules stack://Slidegate
END
