package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// cloudFormation answers DescribeStacks for one stack with these outputs, and
// counts the calls.
func cloudFormation(t *testing.T, name string, outputs ...string) (calls *atomic.Int32) {
	t.Helper()
	calls = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if r.FormValue("StackName") != name {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, "<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id %s does not exist</Message></Error></ErrorResponse>", r.FormValue("StackName"))
			return
		}
		var members strings.Builder
		for i := 0; i < len(outputs); i += 2 {
			fmt.Fprintf(&members, "<member><OutputKey>%s</OutputKey><OutputValue>%s</OutputValue></member>", outputs[i], outputs[i+1])
		}
		fmt.Fprintf(w, "<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>%s</StackName><StackStatus>CREATE_COMPLETE</StackStatus>"+
			"<Outputs>%s</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>", name, members.String())
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_CLOUDFORMATION", server.URL)
	return calls
}

// stack://NAME stands for the tables that the outputs of a stack name, in flags
// and in the environment.
func TestStackAddresses(t *testing.T) {
	x := newTable(t, "testdata/rules.yaml")
	counters := dynamotest.Counters(t, x.client)
	calls := cloudFormation(t, "prod", "RateLimitCountersTable", counters, "RateLimitRulesTable", x.name)
	const inspect = "inspect per-ip ip:203.0.113.9"
	for _, test := range []struct{ rules, store, command string }{
		{"", "", inspect + " --rules stack://prod --store stack://prod"},
		{"", "", inspect + " --rules stack://prod/RateLimit --store stack://prod/RateLimit"},
		{"stack://prod", "stack://prod", inspect},
		{"stack://none", "stack://none", inspect + " --rules stack://prod --store stack://prod"},
		{"", "", inspect + " --rules testdata/rules.yaml --store stack://prod"},
		{"", "", inspect + " --rules stack://prod --store dynamodb://" + counters},
		{"", "", "rules list --rules stack://prod"},
	} {
		t.Setenv("SLIDEGATE_RULES", test.rules)
		t.Setenv("SLIDEGATE_STORE", test.store)
		calls.Store(0)
		if out := mustRun(t, test.command); !strings.Contains(out, "per-ip") && !strings.Contains(out, "first rules") {
			t.Errorf("%s: printed %q", test.command, out)
		}
		if calls.Load() != 1 {
			t.Errorf("%s: %d calls of CloudFormation, want 1", test.command, calls.Load())
		}
	}
}

// A stack that cannot be used is refused, with where its name comes from.
func TestStackRefusals(t *testing.T) {
	signedIn(t, "http://127.0.0.1:1")
	cloudFormation(t, "prod", "Url", "https://example.org")
	wantFailure(t, "rules list --rules stack://none", "--rules: stack none does not exist in region us-east-1; check the name, AWS_REGION and AWS_PROFILE")
	wantFailure(t, "inspect x --rules testdata/rules.yaml --store stack://none", "--store: stack none does not exist")
	wantFailure(t, "rules list --rules stack://prod", "stack prod in region us-east-1 (CREATE_COMPLETE) has no limiter: none of its outputs end in CountersTable and RulesTable")
	t.Setenv("SLIDEGATE_RULES", "stack://prod/Other")
	wantFailure(t, "rules list", "SLIDEGATE_RULES: stack prod")
	for _, address := range []string{"stack://", "stack://1x", "stack://a/b/c", "stack://a_b"} {
		wantExit(t, 2, "rules list --rules "+address, "want stack://NAME")
	}
	t.Setenv("AWS_ENDPOINT_URL_CLOUDFORMATION", "http://127.0.0.1:1")
	wantFailure(t, "rules list --rules stack://prod", "AWS cannot be reached; check the network")
}
