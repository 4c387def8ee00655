// Package deps_test holds the module to its layout: who may import whom, as docs/architecture.md has it.
package deps_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/slidegate/slidegate/"

// allowed lists, for each package, the packages of this module that it may
// import, and the modules or packages of others, which stand for those below
// them. A package that is missing here fails the test: a new one is a decision.
var allowed = map[string]string{
	".": `
		internal/assemble/setup internal/decide/engine internal/kit/clock internal/limit internal/request internal/rules
		internal/rules/key internal/rules/ruledoc internal/store/memory`,
	"docs":              "",
	"examples":          "",
	"examples/attach":   "",
	"examples/http":     ". limithttp",
	"examples/lambda":   ". gate limitlambda store/dynamostore github.com/aws/aws-lambda-go github.com/aws/aws-sdk-go-v2",
	"examples/llm":      ". limithttp",
	"examples/outbound": ". limithttp",
	"examples/proxies":  "",
	"examples/spend":    "",
	"examples/worker":   ".",
	"functions/authorizer": `
		internal/assemble/inlambda internal/decide/receipt internal/lambda/apigw internal/observe/oplog
		github.com/aws/aws-lambda-go`,
	"functions/backend": `
		. limithttp limitlambda store/dynamostore github.com/aws/aws-lambda-go github.com/aws/aws-sdk-go-v2`,
	"functions/operations": `
		internal/assemble/inlambda internal/decide/api internal/decide/engine internal/decide/usage
		internal/lambda/predeploy internal/observe/oplog internal/rules/rulefile internal/rules/ruletable internal/store/dynamo/awsconfig
		github.com/aws/aws-lambda-go github.com/aws/aws-sdk-go-v2`,
	"gate": `
		. internal/assemble/setup internal/decide/engine internal/observe/oplog internal/request internal/rules
		internal/rules/lint internal/rules/ruledoc internal/store/memory`,
	"gate/rulesfile": `
		gate internal/assemble/setup internal/decide/engine internal/rules internal/rules/lint internal/rules/ruledoc
		internal/rules/rulefile`,
	"gate/rulestable": `
		gate internal/assemble/app internal/assemble/setup internal/rules internal/rules/ruledoc
		internal/rules/ruletable internal/store/breaker internal/store/dynamo github.com/aws/aws-sdk-go-v2/service/dynamodb`,
	"limithttp": `
		. gate internal/assemble/httplimit internal/assemble/setup internal/decide/engine internal/decide/headers
		internal/decide/receipt internal/decide/usage internal/kit/clock internal/observe/oplog internal/request
		internal/rules internal/rules/key`,
	"limitlambda": `
		. gate internal/assemble/httplimit internal/assemble/setup internal/decide/headers internal/kit/clock
		internal/lambda/apigw internal/request internal/rules limithttp github.com/aws/aws-lambda-go/events`,
	"limittest":         ". internal/limit internal/test/fakestore",
	"localstack":        "",
	"localstack/issuer": "github.com/golang-jwt/jwt",
	"store/dynamostore": `
		internal/limit internal/observe/oplog internal/store/breaker internal/store/dynamo github.com/aws/aws-sdk-go-v2`,
	"store/redisstore": `
		internal/kit/clock internal/limit internal/store/breaker internal/store/redis github.com/redis/go-redis`,

	"internal/assemble/app": `
		internal/decide/apikeys internal/decide/engine internal/limit internal/observe/oplog internal/rules
		internal/rules/lint internal/rules/ruletable internal/store/dynamo internal/store/memory`,
	"internal/assemble/httplimit": `
		internal/assemble/setup internal/decide/engine internal/decide/headers internal/decide/receipt
		internal/decide/usage internal/kit/clock internal/observe/oplog internal/request`,
	"internal/assemble/inlambda": `
		internal/assemble/app internal/decide/authn internal/decide/engine internal/decide/receipt internal/observe/oplog
		internal/observe/telemetry internal/rules internal/rules/ruledoc internal/rules/ruletable internal/store/breaker
		internal/store/dynamo internal/store/memory`,
	"internal/assemble/meter": `
		internal/assemble/setup internal/decide/engine internal/observe/telemetry internal/observe/telemetry/metric
		internal/request`,
	"internal/assemble/setup": `
		internal/decide/engine internal/kit/clock internal/kit/problem internal/limit internal/observe/oplog
		internal/request internal/rules internal/rules/ruledoc internal/store/memory`,

	"internal/decide/api": `
		internal/decide/engine internal/decide/headers internal/decide/receipt internal/decide/usage internal/limit
		internal/request internal/rules`,
	"internal/decide/apikeys": "internal/kit/cache internal/request internal/rules/ruletable",
	"internal/decide/authn": `
		internal/kit/cache internal/request internal/rules internal/rules/ruledoc github.com/golang-jwt/jwt`,
	"internal/decide/engine":  "internal/kit/clock internal/limit internal/request internal/rules",
	"internal/decide/headers": "internal/decide/engine internal/limit internal/rules",
	"internal/decide/receipt": "internal/decide/engine internal/limit internal/rules",
	"internal/decide/usage": `
		internal/decide/engine internal/decide/headers internal/limit internal/request internal/rules/ruledoc`,

	"internal/kit/cache":   "internal/limit github.com/maypok86/otter",
	"internal/kit/clock":   "",
	"internal/kit/problem": "internal/limit",

	"internal/lambda/apigw": `
		internal/decide/engine internal/decide/headers internal/decide/receipt internal/request internal/request/graphql
		internal/rules internal/rules/lint github.com/aws/aws-lambda-go`,
	"internal/lambda/predeploy": "internal/rules/rulefile",

	"internal/limit": "",

	"internal/observe/oplog": `
		internal/decide/engine internal/kit/clock internal/limit internal/request internal/rules/ruledoc`,
	"internal/observe/telemetry": `
		internal/decide/engine internal/limit internal/observe/telemetry/metric internal/request`,
	"internal/observe/telemetry/metric": "",
	"internal/observe/telemetry/watch":  "internal/decide/engine internal/observe/telemetry/metric",

	"internal/request": "internal/request/urlpath",
	// The parser, its lexer and its tree, which AppSync's events alone need. Its validator and what that needs stay out.
	"internal/request/graphql": `
		internal/request github.com/vektah/gqlparser/v2/ast github.com/vektah/gqlparser/v2/parser`,
	"internal/request/urlpath": "internal/kit/problem",

	"internal/rules": `
		internal/kit/problem internal/limit internal/request internal/rules/key internal/rules/match
		internal/rules/ruledoc github.com/cespare/xxhash`,
	"internal/rules/key": "internal/kit/problem internal/request internal/request/urlpath internal/rules/ruledoc",
	"internal/rules/lint": `
		internal/kit/problem internal/limit internal/request internal/request/urlpath internal/rules internal/rules/key
		internal/rules/match internal/rules/ruledoc`,
	"internal/rules/match": `
		internal/kit/problem internal/request internal/request/urlpath internal/rules/key github.com/gaissmai/bart`,
	"internal/rules/ruledoc":  "internal/kit/problem",
	"internal/rules/rulefile": "internal/rules internal/rules/lint internal/rules/ruledoc internal/rules/yamlfile",
	"internal/rules/ruletable": `
		internal/kit/cache internal/kit/problem internal/rules internal/rules/key internal/rules/ruledoc
		internal/store/dynamo github.com/aws/aws-sdk-go-v2 golang.org/x/sync`,
	"internal/rules/yamlfile": "internal/kit/problem internal/rules/ruledoc go.yaml.in/yaml",

	"internal/store/breaker": "internal/limit github.com/sony/gobreaker",
	"internal/store/dynamo": `
		internal/kit/cache internal/kit/clock internal/limit internal/store/breaker internal/store/dynamo/itemjson
		internal/store/dynamo/lease internal/store/dynamo/protocol github.com/aws/aws-sdk-go-v2 github.com/aws/smithy-go`,
	"internal/store/dynamo/awsconfig": "internal/store/dynamo github.com/aws/aws-sdk-go-v2 github.com/aws/smithy-go",
	"internal/store/dynamo/itemjson":  "github.com/aws/aws-sdk-go-v2/service/dynamodb",
	"internal/store/dynamo/lease":     "internal/kit/cache internal/limit",
	"internal/store/dynamo/protocol":  "internal/limit github.com/aws/aws-sdk-go-v2/service/dynamodb/types",
	"internal/store/memory":           "internal/limit",
	"internal/store/redis": `
		internal/kit/cache internal/kit/clock internal/limit internal/store/breaker github.com/redis/go-redis`,

	"internal/test/deps":        "",
	"internal/test/dynamomodel": "github.com/aws/aws-sdk-go-v2 github.com/aws/smithy-go",
	"internal/test/dynamotest":  "internal/store/dynamo internal/store/dynamo/awsconfig github.com/aws/aws-sdk-go-v2",
	"internal/test/fakestore":   "internal/limit internal/store/memory",
	"internal/test/golden":      "github.com/google/go-cmp",
	"internal/test/oracle":      "internal/rules/yamlfile github.com/santhosh-tekuri/jsonschema",
	"internal/test/outage": `
		internal/kit/clock internal/limit internal/store/dynamo internal/test/dynamomodel github.com/aws/aws-sdk-go-v2`,
	"internal/test/servers":   "github.com/redis/go-redis",
	"internal/test/storetest": "internal/limit github.com/anishathalye/porcupine pgregory.net/rapid",

	"cmd/slidegate": "cmd/slidegate/internal/cli",

	"cmd/slidegate/internal/aws": `
		cmd/slidegate/internal/aws/embedded internal/lambda/predeploy internal/rules/ruletable internal/store/dynamo
		internal/store/dynamo/awsconfig github.com/aws/aws-sdk-go-v2 github.com/aws/smithy-go golang.org/x/mod/semver`,
	"cmd/slidegate/internal/aws/apis": "internal/lambda/apigw github.com/aws/aws-sdk-go-v2",
	"cmd/slidegate/internal/aws/attach": `
		cmd/slidegate/internal/aws cmd/slidegate/internal/aws/apis internal/lambda/apigw internal/rules/ruletable
		internal/store/dynamo/awsconfig github.com/aws/aws-sdk-go-v2 github.com/aws/smithy-go`,
	"cmd/slidegate/internal/aws/doctor": `
		cmd/slidegate/internal/aws cmd/slidegate/internal/aws/apis cmd/slidegate/internal/aws/embedded
		internal/lambda/apigw internal/lambda/predeploy internal/rules internal/rules/ruletable internal/store/dynamo
		internal/store/dynamo/awsconfig github.com/aws/aws-sdk-go-v2 github.com/aws/smithy-go golang.org/x/mod/semver`,
	"cmd/slidegate/internal/aws/embedded": "",

	"cmd/slidegate/internal/cli": `
		cmd/slidegate/internal/cli/awscmd cmd/slidegate/internal/cli/command cmd/slidegate/internal/cli/keyscmd
		cmd/slidegate/internal/cli/rulescmd cmd/slidegate/internal/cli/trafficcmd cmd/slidegate/internal/operator
		cmd/slidegate/internal/operator/session cmd/slidegate/internal/text internal/decide/engine internal/request
		internal/rules internal/rules/rulefile internal/rules/ruletable internal/rules/yamlfile
		github.com/redis/go-redis github.com/spf13/cobra`,
	"cmd/slidegate/internal/cli/awscmd": `
		cmd/slidegate/internal/aws cmd/slidegate/internal/aws/attach cmd/slidegate/internal/aws/doctor
		cmd/slidegate/internal/cli/command cmd/slidegate/internal/text internal/lambda/predeploy github.com/spf13/cobra`,
	"cmd/slidegate/internal/cli/command": `
		cmd/slidegate/internal/aws cmd/slidegate/internal/operator cmd/slidegate/internal/operator/session
		cmd/slidegate/internal/text cmd/slidegate/internal/traffic/logs internal/request internal/rules/ruletable
		internal/store/redis github.com/spf13/cobra golang.org/x/term`,
	"cmd/slidegate/internal/cli/keyscmd": `
		cmd/slidegate/internal/cli/command cmd/slidegate/internal/imports cmd/slidegate/internal/operator
		cmd/slidegate/internal/operator/session cmd/slidegate/internal/text internal/decide/apikeys
		internal/decide/engine internal/limit internal/request internal/rules internal/rules/key internal/rules/ruledoc
		internal/rules/rulefile internal/rules/ruletable internal/rules/yamlfile github.com/spf13/cobra`,
	"cmd/slidegate/internal/cli/rulescmd": `
		cmd/slidegate/internal/cli/command cmd/slidegate/internal/imports cmd/slidegate/internal/imports/envoy
		cmd/slidegate/internal/imports/usageplans cmd/slidegate/internal/operator
		cmd/slidegate/internal/operator/session cmd/slidegate/internal/text cmd/slidegate/internal/traffic/logs
		cmd/slidegate/internal/traffic/replay internal/decide/engine internal/rules internal/rules/ruledoc
		internal/rules/rulefile internal/rules/ruletable internal/rules/yamlfile github.com/spf13/cobra`,
	"cmd/slidegate/internal/cli/trafficcmd": `
		cmd/slidegate/internal/cli/command cmd/slidegate/internal/operator cmd/slidegate/internal/operator/session
		cmd/slidegate/internal/text cmd/slidegate/internal/traffic/cost cmd/slidegate/internal/traffic/logs
		cmd/slidegate/internal/traffic/replay cmd/slidegate/internal/traffic/report
		cmd/slidegate/internal/traffic/suggest internal/decide/engine internal/request internal/rules
		internal/store/memory github.com/spf13/cobra`,

	"cmd/slidegate/internal/imports": `
		cmd/slidegate/internal/text internal/kit/problem internal/rules internal/rules/ruledoc internal/rules/rulefile
		internal/rules/yamlfile`,
	"cmd/slidegate/internal/imports/envoy": `
		cmd/slidegate/internal/imports cmd/slidegate/internal/text internal/request internal/rules/key
		internal/rules/ruledoc`,
	"cmd/slidegate/internal/imports/usageplans": `
		cmd/slidegate/internal/imports internal/limit internal/rules/key internal/rules/ruledoc`,

	"cmd/slidegate/internal/operator": `
		cmd/slidegate/internal/operator/session cmd/slidegate/internal/serve/admin
		cmd/slidegate/internal/serve/decideapi cmd/slidegate/internal/serve/gateway cmd/slidegate/internal/text
		cmd/slidegate/internal/traffic/logs cmd/slidegate/internal/traffic/replay internal/assemble/app
		internal/decide/api internal/decide/authn internal/decide/engine internal/decide/receipt internal/decide/usage
		internal/limit internal/observe/oplog internal/observe/telemetry internal/request internal/rules internal/rules/key internal/rules/lint
		internal/rules/ruledoc internal/rules/rulefile internal/rules/ruletable internal/store/memory`,
	"cmd/slidegate/internal/operator/session": `
		internal/assemble/app internal/decide/engine internal/kit/clock internal/limit internal/observe/oplog
		internal/observe/telemetry internal/rules internal/rules/lint internal/rules/rulefile internal/rules/ruletable
		internal/store/breaker internal/store/dynamo internal/store/dynamo/awsconfig internal/store/memory
		internal/store/redis`,

	"cmd/slidegate/internal/serve/admin": `
		cmd/slidegate/internal/serve/gateway cmd/slidegate/internal/text cmd/slidegate/internal/traffic/chart
		cmd/slidegate/internal/traffic/replay internal/decide/engine internal/observe/telemetry
		internal/observe/telemetry/metric internal/request internal/rules internal/rules/ruledoc internal/rules/rulefile
		github.com/prometheus/client_golang`,
	"cmd/slidegate/internal/serve/decideapi": `
		cmd/slidegate/internal/serve/gateway internal/decide/api internal/decide/engine internal/decide/headers
		internal/decide/receipt internal/decide/usage internal/kit/clock internal/request internal/rules`,
	"cmd/slidegate/internal/serve/gateway": `
		internal/assemble/httplimit internal/decide/engine internal/decide/headers internal/decide/usage
		internal/observe/oplog internal/request internal/rules`,

	"cmd/slidegate/internal/text": "internal/rules/ruledoc",

	"cmd/slidegate/internal/traffic/chart": "cmd/slidegate/internal/text",
	"cmd/slidegate/internal/traffic/cost": `
		internal/lambda/predeploy internal/limit internal/observe/telemetry/metric internal/observe/telemetry/watch
		internal/rules`,
	"cmd/slidegate/internal/traffic/logs":     "internal/limit internal/request",
	"cmd/slidegate/internal/traffic/pictures": "cmd/slidegate/internal/traffic/chart internal/limit",
	"cmd/slidegate/internal/traffic/replay": `
		cmd/slidegate/internal/traffic/logs internal/decide/engine internal/limit internal/request internal/rules`,
	"cmd/slidegate/internal/traffic/report": `
		cmd/slidegate/internal/text cmd/slidegate/internal/traffic/chart cmd/slidegate/internal/traffic/cost
		cmd/slidegate/internal/traffic/logs cmd/slidegate/internal/traffic/replay internal/decide/engine internal/limit
		internal/request internal/rules internal/rules/ruledoc`,
	"cmd/slidegate/internal/traffic/suggest": `
		cmd/slidegate/internal/text cmd/slidegate/internal/traffic/logs cmd/slidegate/internal/traffic/replay
		internal/limit internal/request internal/rules internal/rules/key internal/rules/ruledoc internal/rules/rulefile`,
}

// unwanted are parts of the names of packages that a program must not link.
var unwanted = map[string]string{
	// A program that reads its rules from a file has no store but memory, and nothing of AWS.
	"./gate/rulesfile": `github.com/aws github.com/redis internal/store/dynamo internal/assemble/app github.com/spf13
		github.com/prometheus`,
	// Every package of the Lambda makes a cold start longer. It reads rules as JSON, so no YAML package is in it,
	// and its AWS settings from the environment, so no clients for other ways to sign in are.
	"./functions/authorizer": `yaml internal/rules/rulefile github.com/redis github.com/prometheus github.com/aws/aws-cdk-go
		github.com/spf13/cobra slidegate/cmd/ internal/store/dynamo/awsconfig aws-sdk-go-v2/config aws-sdk-go-v2/credentials
		aws-sdk-go-v2/service/s aws-sdk-go-v2/feature/ec2 encoding/xml gqlparser/v2/validator`,
}

func TestUnwanted(t *testing.T) {
	for program, parts := range unwanted {
		for _, p := range list(t, program) {
			for _, dep := range p.Deps {
				if slices.ContainsFunc(strings.Fields(parts), func(part string) bool { return strings.Contains(dep, part) }) {
					t.Errorf("%s links %s", program, dep)
				}
			}
		}
	}
}

// operators are the packages that call other services of AWS than DynamoDB, and
// the programs that link them.
var operators = []string{
	"functions/operations", "cmd/slidegate", "cmd/slidegate/internal/aws",
	// command finds the tables of a stack://NAME, and each command has flags.
	"cmd/slidegate/internal/cli", "cmd/slidegate/internal/cli/awscmd", "cmd/slidegate/internal/cli/command",
	"cmd/slidegate/internal/cli/keyscmd", "cmd/slidegate/internal/cli/rulescmd", "cmd/slidegate/internal/cli/trafficcmd",
}

// TestServices: of AWS's services, programs that limit link DynamoDB alone.
func TestServices(t *testing.T) {
	const services = "github.com/aws/aws-sdk-go-v2/service/"
	for _, p := range list(t, "./...") {
		name := short(p.ImportPath)
		if slices.Contains(operators, name) || strings.HasPrefix(name, "cmd/slidegate/internal/aws/") {
			continue
		}
		for _, dep := range p.Deps {
			for _, unwanted := range []string{"s3", "cloudformation", "apigateway", "apigatewayv2", "cloudwatch",
				"cloudwatchlogs", "iam", "lambda"} {
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

// permits reports whether a rule names an imported package: one of this module
// itself, one of another module by it or by what it is below.
func permits(rule, imported string) bool {
	return slices.ContainsFunc(strings.Fields(rule), func(allowed string) bool {
		foreign := strings.Contains(strings.Split(allowed, "/")[0], ".") && allowed != "."
		return imported == allowed || foreign && strings.HasPrefix(imported, allowed+"/")
	})
}

// What a few people can look after. A line of code is neither blank nor a
// comment, and is not in a test.
const (
	mostFiles = 28     // of a package
	mostLines = 3000   // of a package
	mostCode  = 52_510 // of all modules, on 2026-11-28. A commit that raises it says why
)

// TestSize: each package is small enough to be one idea, and the whole does not
// grow unnoticed.
func TestSize(t *testing.T) {
	files, lines, all := map[string]int{}, map[string]int{}, 0
	err := filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "dist" ||
			strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".."):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		for line := range strings.Lines(string(source)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines[filepath.Dir(path)]++
				all++
			}
		}
		files[filepath.Dir(path)]++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, n := range files {
		if n > mostFiles || lines[dir] > mostLines {
			t.Errorf("%s has %d files and %d lines of code, want at most %d and %d: find the two ideas in it", dir, n,
				lines[dir], mostFiles, mostLines)
		}
	}
	if all > mostCode || all < mostCode/2 {
		t.Errorf("all modules have %d lines of code, want at most %d", all, mostCode)
	}
}

// buildings are the two folders whose packages only this module can import.
var buildings = []string{"internal", "cmd/slidegate/internal"}

var wingRow = regexp.MustCompile("(?m)^\\| `((?:cmd/slidegate/)?internal/[a-z]+)` \\| [^|]{20,} \\|$")

// wings returns the wings of both buildings as docs/architecture.md lists them:
// each imports of its building only those below it.
func wings(t *testing.T) (names []string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range wingRow.FindAllStringSubmatch(string(page), -1) {
		names = append(names, row[1])
	}
	return names
}

// wingOf returns the wing of a package, and its building; "" for packages
// elsewhere.
func wingOf(name string) (wing, building string) {
	for _, building := range buildings {
		if rest, ok := strings.CutPrefix(name, building+"/"); ok {
			first, _, _ := strings.Cut(rest, "/")
			return building + "/" + first, building
		}
	}
	return "", ""
}

// TestWings: each folder of a building is a wing that docs/architecture.md
// explains, and imports go in one direction.
func TestWings(t *testing.T) {
	wings := wings(t)
	for _, building := range buildings {
		entries, err := os.ReadDir(filepath.Join("../../..", building))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, entry := range entries {
			if name := building + "/" + entry.Name(); !slices.Contains(wings, name) {
				t.Errorf("%s is no wing: docs/architecture.md has no row `%s` with its purpose", name, name)
			}
			found++
		}
		if most := map[string]int{"internal": 10, "cmd/slidegate/internal": 8}[building]; found == 0 || found > most {
			t.Errorf("%s has %d names, want at most %d", building, found, most)
		}
	}
	for _, name := range wings {
		if _, err := os.Stat(filepath.Join("../../..", name)); err != nil {
			t.Errorf("docs/architecture.md has a row for %s: %v", name, err)
		}
	}
	for _, p := range list(t, "./...") {
		from, building := wingOf(short(p.ImportPath))
		for _, imported := range p.Imports {
			to, other := wingOf(short(imported))
			if from != "" && other == building && slices.Index(wings, to) < slices.Index(wings, from) {
				t.Errorf("%s imports %s: %s is above %s in docs/architecture.md", short(p.ImportPath), short(imported), to, from)
			}
		}
	}
}
