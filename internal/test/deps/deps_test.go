// Package deps_test holds the module to its layout: who may import whom, as docs/architecture.md has it.
package deps_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/slidegate/slidegate/"

// allowed lists, for each package, what it may import of this module and from where else besides the standard library.
// A package that is missing here fails the test: a new one is a decision.
var allowed = map[string]string{
	".":             "internal/clock internal/engine internal/limit internal/memory internal/request internal/ruledoc internal/rules internal/setup",
	"gate":          ". internal/engine internal/memory internal/oplog internal/request internal/ruledoc internal/rules internal/setup",
	"limithttp":     "internal/usage . gate internal/clock internal/engine internal/headers internal/httplimit internal/httprequest internal/oplog internal/receipt internal/request internal/rules internal/setup",
	"slidegatetest": ". internal/limit internal/test/fakestore",

	"dynamostore": "internal/breaker internal/dynamo internal/limit internal/oplog github.com/aws/aws-sdk-go-v2",
	"redisstore":  "internal/breaker internal/clock internal/limit internal/redis github.com/redis/go-redis",

	"rulesfile":  "gate internal/engine internal/ruledoc internal/rulefile internal/rules internal/setup",
	"rulestable": "gate internal/app internal/breaker internal/dynamo internal/ruledoc internal/ruletable internal/setup github.com/aws/aws-sdk-go-v2/service/dynamodb",

	"lambdalimit": ". gate limithttp internal/apigw internal/clock internal/headers internal/httplimit internal/httprequest internal/request internal/rules internal/setup github.com/aws/aws-lambda-go/events",

	"internal/limit":        "",
	"internal/clock":        "",
	"internal/problem":      "internal/limit",
	"internal/ruledoc":      "internal/problem",
	"internal/yamlfile":     "internal/ruledoc go.yaml.in/yaml",
	"internal/rulefile":     "internal/ruledoc internal/yamlfile internal/rules internal/rules/lint internal/problem",
	"internal/request":      "internal/urlpath",
	"internal/rules/key":    "internal/request internal/ruledoc internal/urlpath internal/problem",
	"internal/rules/match":  "internal/request internal/rules/key internal/urlpath github.com/gaissmai/bart internal/problem",
	"internal/rules/limits": "internal/limit internal/problem internal/ruledoc",
	"internal/rules":        "internal/limit internal/request internal/ruledoc internal/rules/key internal/rules/limits internal/rules/match github.com/cespare/xxhash internal/problem",
	"internal/urlpath":      "internal/problem",
	"internal/rules/lint":   "internal/urlpath internal/limit internal/ruledoc internal/request internal/rules internal/rules/key internal/rules/limits internal/rules/match internal/problem",
	"internal/headers":      "internal/engine internal/limit internal/rules",
	"internal/outcome":      "internal/engine",
	"internal/meter":        "internal/engine internal/limit internal/request internal/setup internal/telemetry",
	"internal/admin":        "internal/rules internal/telemetry internal/webguard github.com/prometheus/client_golang",
	"internal/telemetry":    "internal/engine internal/limit internal/request internal/telemetry/metric",
	"internal/httplimit":    "internal/usage internal/clock internal/engine internal/headers internal/oplog internal/outcome internal/receipt internal/setup",
	"internal/setup":        "internal/clock internal/engine internal/limit internal/memory internal/oplog internal/problem internal/request internal/ruledoc internal/rules",
	"internal/httprequest":  "internal/request",
	"internal/engine":       "internal/limit internal/request internal/rules",
	"internal/memory":       "internal/limit",
	"internal/dynamo":       "internal/breaker internal/cache internal/clock internal/limit internal/dynamo/itemjson internal/dynamo/lease internal/dynamo/protocol github.com/aws/aws-sdk-go-v2 github.com/aws/smithy-go",
	"internal/redis":        "internal/breaker internal/cache internal/clock internal/limit github.com/redis/go-redis",
	"internal/ruletable":    "internal/ruledoc internal/rules internal/dynamo internal/swr github.com/aws/aws-sdk-go-v2 golang.org/x/sync internal/problem",
	"internal/authn":        "internal/oplog internal/request internal/ruledoc internal/rules internal/strictjson internal/swr github.com/golang-jwt/jwt",
	"internal/apigw":        "internal/engine internal/headers internal/limit internal/receipt internal/request internal/rules github.com/aws/aws-lambda-go",
	"internal/app":          "internal/apikeys internal/engine internal/limit internal/memory internal/dynamo internal/request internal/rules internal/ruletable internal/oplog",
	"internal/oplog":        "internal/clock internal/engine internal/limit internal/request internal/ruledoc",
	"internal/decideapi":    "internal/usage internal/apigw internal/clock internal/engine internal/headers internal/oplog internal/request internal/rules internal/strictjson internal/webguard",
	"internal/webguard":     "",
	"internal/live":         "internal/admin internal/engine internal/replay internal/report/chart internal/request internal/ruledoc internal/rulefile internal/rules internal/telemetry internal/text",
	"internal/gateway":      "internal/usage internal/clock internal/headers internal/outcome internal/apigw internal/engine internal/httprequest internal/oplog internal/request internal/rules",
	"internal/imports":      "internal/ruledoc internal/rulefile internal/rules internal/text internal/yamlfile",
	"internal/logs":         "internal/limit internal/request",
	"internal/peaks":        "internal/limit",
	"internal/suggest":      "internal/limit internal/logs internal/peaks internal/replay internal/request internal/ruledoc internal/rulefile internal/rules internal/text",
	"internal/replay":       "internal/clock internal/engine internal/logs internal/request internal/rules internal/limit",

	"internal/report":           "internal/cost internal/engine internal/limit internal/logs internal/peaks internal/replay internal/report/chart internal/request internal/ruledoc internal/rules internal/text",
	"internal/report/chart":     "internal/text",
	"internal/predeploy":        "internal/rulefile",
	"internal/receipt":          "internal/engine internal/limit internal/rules",
	"internal/breaker":          "internal/limit github.com/sony/gobreaker",
	"internal/cache":            "github.com/maypok86/otter",
	"internal/apikeys":          "internal/request internal/ruletable internal/swr",
	"internal/strictjson":       "",
	"internal/telemetry/metric": "",
	"internal/telemetry/watch":  "internal/engine internal/telemetry/metric",
	"internal/telemetry/emf":    "internal/telemetry",
	"internal/swr":              "internal/cache internal/limit",

	"internal/imports/envoy":      "internal/imports internal/rules/key internal/ruledoc internal/yamlfile",
	"internal/imports/usageplans": "internal/imports internal/rules/key internal/limit internal/ruledoc",
	"internal/imports/plain":      "internal/imports internal/limit internal/ruledoc internal/yamlfile",

	"internal/dynamo/awsconfig": "internal/dynamo github.com/aws/aws-sdk-go-v2 github.com/aws/smithy-go",

	// The protocol is pure: DynamoDB's types, and no client of it.
	"internal/dynamo/itemjson":     "github.com/aws/aws-sdk-go-v2/service/dynamodb",
	"internal/dynamo/protocol":     "internal/limit github.com/aws/aws-sdk-go-v2/service/dynamodb/types",
	"internal/dynamo/lease":        "internal/cache internal/limit",
	"internal/dynamo/protocoltest": "github.com/aws/aws-sdk-go-v2",

	"docs":              "", // tests of the pages
	"examples":          "", // and its programs import what users import
	"examples/attach":   "", // tests of templates
	"examples/http":     ". limithttp",
	"examples/lambda":   ". gate dynamostore lambdalimit github.com/aws/aws-lambda-go github.com/aws/aws-sdk-go-v2",
	"examples/llm":      ". limithttp",
	"examples/outbound": ". limithttp",
	"examples/proxies":  "", // tests of configurations
	"examples/worker":   ".",

	"internal/test/fakestore":    "internal/limit internal/memory",
	"internal/test/golden":       "github.com/google/go-cmp",
	"internal/test/lambdatest":   "",
	"internal/test/netfault":     "",
	"internal/test/pathtest":     "",
	"internal/test/rulefiletest": "internal/yamlfile github.com/santhosh-tekuri/jsonschema",
	"internal/test/dynamotest":   "internal/dynamo github.com/aws/aws-sdk-go-v2",
	"internal/test/dynamomodel":  "github.com/aws/aws-sdk-go-v2 github.com/aws/smithy-go",
	"internal/test/redistest":    "github.com/redis/go-redis",
	"internal/test/storetest":    "internal/limit github.com/anishathalye/porcupine pgregory.net/rapid",
	"internal/test/sim":          "internal/clock internal/limit internal/dynamo internal/test/dynamomodel github.com/aws/aws-sdk-go-v2",
	"internal/test/deps":         "",
	"localstack":                 "", // tests of the scripts
	"localstack/issuer":          "github.com/golang-jwt/jwt",
	"functions/authorizer":       "internal/breaker internal/apigw internal/app internal/authn internal/dynamo internal/engine internal/memory internal/oplog internal/receipt internal/ruledoc internal/rules internal/ruletable internal/telemetry github.com/aws/aws-lambda-go",
	"functions/operations":       "internal/dynamo internal/predeploy internal/rulefile internal/ruletable github.com/aws/aws-lambda-go github.com/aws/aws-sdk-go-v2",
	"functions/backend":          ". dynamostore lambdalimit limithttp github.com/aws/aws-lambda-go github.com/aws/aws-sdk-go-v2",
	"internal/text":              "internal/ruledoc",
	"internal/cost":              "internal/limit internal/ruledoc internal/rules internal/telemetry/metric internal/telemetry/watch",

	"internal/operator": "internal/usage internal/admin internal/apigw internal/apikeys internal/app internal/authn internal/cost internal/decideapi internal/engine internal/gateway internal/imports internal/limit internal/live internal/logs internal/memory " +
		"internal/operator internal/oplog internal/suggest internal/replay internal/report internal/request internal/ruledoc internal/rulefile internal/rules internal/ruletable internal/telemetry internal/text internal/yamlfile",
	"internal/operator/session":      "internal/breaker internal/app internal/clock internal/dynamo internal/engine internal/limit internal/memory internal/oplog internal/redis internal/rulefile internal/rules internal/ruletable internal/telemetry",
	"internal/operator/aws/embedded": "",
	"internal/operator/top":          "internal/admin internal/dynamo/awsconfig internal/operator/aws internal/telemetry github.com/aws/aws-sdk-go-v2",
	"internal/operator/aws/doctor":   "internal/apigw internal/dynamo internal/operator/aws internal/predeploy internal/rules internal/ruletable golang.org/x/mod/semver github.com/aws/aws-sdk-go-v2 github.com/aws/smithy-go",
	"internal/operator/aws/attach":   "internal/apigw internal/dynamo/awsconfig internal/operator/aws internal/ruletable github.com/aws/aws-sdk-go-v2 github.com/aws/smithy-go",
	"internal/operator/aws/gateway":  "internal/apigw github.com/aws/aws-sdk-go-v2",
	"internal/operator/aws":          "internal/dynamo internal/dynamo/awsconfig internal/operator/aws/embedded internal/predeploy internal/ruletable golang.org/x/mod/semver github.com/aws/aws-sdk-go-v2 github.com/aws/smithy-go",
	"internal/usage":                 "internal/engine internal/headers internal/limit internal/request internal/ruledoc",
	"internal/report/pictures":       "internal/limit internal/report/chart",
	"internal/starter":               "internal/rulefile internal/yamlfile",
	"internal/cli": "internal/cli internal/starter internal/clock internal/cost internal/engine internal/imports internal/limit internal/logs internal/operator internal/replay internal/report internal/suggest internal/ruledoc internal/request internal/rules internal/telemetry/metric " +
		"internal/ruletable internal/text internal/yamlfile github.com/redis/go-redis github.com/spf13/cobra",
	"internal/cli/flags":   "internal/operator internal/redis internal/request internal/rules internal/ruletable internal/text github.com/spf13/cobra",
	"internal/cli/term":    "internal/logs internal/text golang.org/x/term",
	"internal/cli/outfile": "",
	"cmd/slidegate":        "internal/cli",
}

// TestRulesfile: a program that reads its rules from a file links no store but
// memory, and nothing of AWS.
func TestRulesfile(t *testing.T) {
	for _, p := range list(t, "./rulesfile") {
		for _, dep := range p.Deps {
			for _, unwanted := range []string{"github.com/aws", "github.com/redis", "internal/dynamo", "internal/app", "internal/operator", "github.com/spf13", "github.com/prometheus"} {
				if strings.Contains(dep, unwanted) {
					t.Errorf("rulesfile links %s", dep)
				}
			}
		}
	}
}

// TestServices: of AWS's services, programs that limit link DynamoDB alone.
func TestServices(t *testing.T) {
	const services = "github.com/aws/aws-sdk-go-v2/service/"
	for _, p := range list(t, "./...") {
		name := short(p.ImportPath)
		if name == "functions/operations" || permits("internal/operator/aws internal/operator/top internal/cli cmd/slidegate", name) {
			continue
		}
		for _, dep := range p.Deps {
			for _, unwanted := range []string{"s3", "cloudformation", "apigateway", "apigatewayv2", "cloudwatch", "cloudwatchlogs", "iam", "lambda"} {
				if dep == services+unwanted {
					t.Errorf("%s links %s", name, dep)
				}
			}
		}
	}
}

type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

func list(t *testing.T, args ...string) (packages []listed) {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-json=ImportPath,Standard,Imports,Deps"}, args...)...)
	command.Dir = "../../.."
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func TestImports(t *testing.T) {
	standard := map[string]bool{}
	for _, p := range list(t, "std") {
		standard[p.ImportPath] = true
	}
	for _, p := range list(t, "./...") {
		name := short(p.ImportPath)
		rule, ok := allowed[name]
		if !ok {
			t.Errorf("%s is not in the layout: say in this test what it may import", name)
		}
		for _, imported := range p.Imports {
			if !standard[imported] && !permits(rule, short(imported)) {
				t.Errorf("%s imports %s", name, imported)
			}
		}
	}
}

// short returns the name of a package in this module; "." for the root.
func short(path string) string {
	if path+"/" == module {
		return "."
	}
	return strings.TrimPrefix(path, module)
}

func permits(rule, imported string) bool {
	return slices.ContainsFunc(strings.Fields(rule), func(allowed string) bool {
		return imported == allowed || strings.HasPrefix(imported, allowed+"/")
	})
}

// TestLambda: the Lambda's binary links nothing that it does not need, because
// every package makes a cold start longer. It reads rules as JSON, so no YAML
// package is in it, and its AWS settings from the environment, so no clients for
// other ways to sign in are.
func TestLambda(t *testing.T) {
	for _, p := range list(t, "./functions/authorizer") {
		for _, dep := range p.Deps {
			for _, unwanted := range []string{
				"yaml", "internal/rulefile", "github.com/redis", "github.com/prometheus", "github.com/aws/aws-cdk-go", "github.com/spf13/cobra", "internal/gateway", "internal/replay",
				"internal/dynamo/awsconfig", "aws-sdk-go-v2/config", "aws-sdk-go-v2/credentials", "aws-sdk-go-v2/service/s", "aws-sdk-go-v2/feature/ec2", "encoding/xml",
			} {
				if strings.Contains(dep, unwanted) {
					t.Errorf("the authorizer links %s", dep)
				}
			}
		}
	}
}
