# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by engine.sh. DynamoDB Local is Amazon's own, in Java. Its licence
# requires an AWS account and forbids redistribution: this script downloads it
# unchanged, into .cache/engines only.
tools=(java mvn cc)
pom=$root/localstack/engines/dynamodb-local.pom.xml # pins its version
lib=$engines/dynamodb-local

install() {
	if [[ $(uname -sm) != 'Linux x86_64' ]]; then
		echo "engine: the SQLite library of DynamoDB Local is in Maven for Linux on x86-64, not for $(uname -sm): run the other engines" >&2
		exit 1
	fi
	if ! cmp -s "$pom" "$lib/installed"; then
		echo 'engine: downloading DynamoDB Local; its licence (LICENSE.txt in its jar) asks for an AWS account in good standing' >&2
		rm -rf "$lib"
		mvn --batch-mode --quiet --strict-checksums -Dstyle.color=never --file "$pom" -Dmaven.repo.local="$engines/maven" \
			dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$lib" >&2
		cp "$pom" "$lib/installed"
	fi
}

# DynamoDB Local listens on every address and has no option to change that, so
# loopback.c restricts it, for IPv4 only.
serve() {
	"${CC:-cc}" -shared -fPIC -O -o loopback.so "$root/localstack/engines/loopback.c" -ldl &&
		exec env -i PATH="$PATH" HOME="$work" LD_PRELOAD="$work/loopback.so" \
			java -Djava.net.preferIPv4Stack=true -Djava.library.path="$lib" -cp "$lib/*" \
			software.amazon.dynamodb.services.local.main.ServerRunner -inMemory -sharedDb -disableTelemetry -port "$1"
}
