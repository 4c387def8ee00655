// Package attach_test holds the snippets of this directory to the responses and
// the authorizer that the construct deploys.
package attach_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// response is a gateway response of an OpenAPI definition.
type response struct {
	Status     string            `json:"statusCode,omitempty" yaml:"statusCode"`
	Parameters map[string]string `json:"responseParameters" yaml:"responseParameters"`
	Templates  map[string]string `json:"responseTemplates,omitempty" yaml:"responseTemplates"`
}

// wanted are the construct's responses, by their types.
func wanted() map[string]response {
	all := map[string]response{}
	for _, r := range apigw.GatewayResponses() {
		one := response{Parameters: map[string]string{}}
		if r.Status != 0 {
			one.Status = strconv.Itoa(r.Status)
		}
		for name, expression := range r.Headers {
			one.Parameters[apigw.ResponseField+name] = expression
		}
		if r.Body != "" {
			one.Templates = map[string]string{"application/json": r.Body}
		}
		all[r.Type] = one
	}
	return all
}

// TestTerraformResponses: go test -update writes the file that rest.tf reads.
func TestTerraformResponses(t *testing.T) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(wanted()); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "terraform/gateway-responses.json", b.String())
}

func TestOpenAPIResponses(t *testing.T) {
	var definition struct {
		Responses map[string]response `yaml:"x-amazon-apigateway-gateway-responses"`
	}
	load(t, "openapi-rest.yaml", &definition)
	if diff := cmp.Diff(wanted(), definition.Responses); diff != "" {
		t.Errorf("openapi-rest.yaml (-the construct's, +the file's):\n%s", diff)
	}
}

// TestOpenAPIAuthorizers: nothing is cached, and no identity source has the gateway
// itself answer 401.
func TestOpenAPIAuthorizers(t *testing.T) {
	for name, want := range map[string]map[string]any{
		"openapi-rest.yaml": {"type": "request", "authorizerUri": "AUTHORIZER_URI", "authorizerResultTtlInSeconds": 0},
		"openapi-http.yaml": {
			"type": "request", "authorizerUri": "AUTHORIZER_URI", "authorizerResultTtlInSeconds": 0,
			"authorizerPayloadFormatVersion": "2.0", "enableSimpleResponses": true,
		},
	} {
		var definition struct {
			Components struct {
				Schemes map[string]struct {
					Authorizer map[string]any `yaml:"x-amazon-apigateway-authorizer"`
				} `yaml:"securitySchemes"`
			} `yaml:"components"`
		}
		load(t, name, &definition)
		if diff := cmp.Diff(want, definition.Components.Schemes["Slidegate"].Authorizer); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSAMResponses(t *testing.T) {
	var template struct {
		Globals struct {
			API struct {
				Responses map[string]struct {
					Status     string `yaml:"StatusCode"`
					Parameters struct {
						Headers map[string]string `yaml:"Headers"`
					} `yaml:"ResponseParameters"`
					Templates map[string]string `yaml:"ResponseTemplates"`
				} `yaml:"GatewayResponses"`
			} `yaml:"Api"`
		} `yaml:"Globals"`
	}
	load(t, "sam.yaml", &template)
	got := map[string]response{}
	for kind, r := range template.Globals.API.Responses {
		one := response{r.Status, map[string]string{}, r.Templates}
		if maps.Equal(r.Templates, map[string]string{"application/json": `{"message":$context.error.messageString}`}) {
			one.Templates = nil // API Gateway's own
		}
		for name, expression := range r.Parameters.Headers {
			one.Parameters[apigw.ResponseField+name] = expression
		}
		got[kind] = one
	}
	if diff := cmp.Diff(wanted(), got); diff != "" {
		t.Errorf("sam.yaml (-the construct's, +the file's):\n%s", diff)
	}
}

// TestSAMPage: the page has all that sam.yaml adds to an app, so a reader can paste
// its blocks without the file.
func TestSAMPage(t *testing.T) {
	var page strings.Builder
	for i, block := range regexp.MustCompile("(?ms)^```yaml\n# sam.yaml\n(.*?)^```$").FindAllStringSubmatch(read(t, "../../docs/start/sam.md"), -1) {
		text := block[1]
		if i == 2 {
			text = strings.TrimPrefix(text, "Globals:\n") // the file states it once
		}
		page.WriteString(text)
	}
	_, file, _ := strings.Cut(read(t, "sam.yaml"), "\nParameters:\n")
	file, _, _ = strings.Cut(file, "\n# What follows")
	if diff := cmp.Diff("Parameters:\n"+strings.ReplaceAll(file, "\n\n", "\n"), page.String()); diff != "" {
		t.Errorf("docs/start/sam.md (-sam.yaml, +the page):\n%s", diff)
	}
}

// TestPages: the templates on the pages are parts of the files. Lines of three dots
// leave something out.
func TestPages(t *testing.T) {
	blocks := regexp.MustCompile("(?ms)^```(?:yaml|hcl)\n# ((?:openapi|terraform)[a-z./-]+)\n(.*?)^```$")
	checked := map[string]int{}
	for _, page := range []string{"terraform", "openapi"} {
		for _, block := range blocks.FindAllStringSubmatch(read(t, "../../docs/start/"+page+".md"), -1) {
			file := read(t, block[1])
			for _, part := range regexp.MustCompile(`(?m)^ *# \.\.\.\n`).Split(block[2], -1) {
				if checked[page]++; !strings.Contains(file, part) {
					t.Errorf("docs/start/%s.md: %s has no\n%s", page, block[1], part)
				}
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"terraform": 9, "openapi": 5}, checked); diff != "" {
		t.Errorf("parts of pages (-want +got):\n%s", diff)
	}
}

func load(t *testing.T, name string, into any) {
	t.Helper()
	unmarshal(t, name, read(t, name), into)
}

func unmarshal(t *testing.T, name, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
