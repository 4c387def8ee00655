//go:build e2e

package e2e

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/lambda/predeploy"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// unchecked are rights whose lack an emulator does not show: it writes the logs of
// Lambdas itself.
var unchecked = []string{"logs:CreateLogStream", "logs:PutLogEvents"}

// assets is CDK's bucket, which the Lambda that publishes may read.
const assets = "cdk-hnb659fds-assets-" + account + "-" + region

// rights removes each right of the Lambdas' roles in turn, and expects that
// something fails. The limiter's part of the template runs in an emulator that
// evaluates policies.
func (d *deployment) rights(t *testing.T) {
	t.Parallel() // it waits most of the time
	w := newStrictAWS(t, d)
	w.grants(t, d)
	lambdas := []struct {
		role     string
		exercise func() (failure string)
	}{{"Operations", w.publishes}, {"Role", w.decides}}
	for _, l := range lambdas {
		role := w.physical[w.logical("AWS::IAM::Role", "RateLimit"+l.role)]
		name, policy := w.policyOf(role)
		if failure := l.exercise(); failure != "" {
			t.Fatalf("with all rights of %s: %s", l.role, failure)
		}
		for _, right := range rightsOf(policy) {
			if slices.Contains(unchecked, right.action) {
				continue
			}
			t.Run(l.role+" without "+right.action, func(t *testing.T) {
				w.putPolicy(role, name, right.removed)
				failure := l.exercise()
				if failure == "" {
					t.Errorf("without %s on %s nothing fails", right.action, right.resource)
				}
				t.Logf("%.200s", failure)
			})
		}
		w.putPolicy(role, name, policy)
		if failure := l.exercise(); failure != "" {
			t.Errorf("with all rights of %s again: %s", l.role, failure)
		}
	}
}

// right is an action on a resource, and the policy without it.
type right struct {
	action, resource string
	removed          policy
}

type policy = map[string]any

// rightsOf lists the rights of a policy.
func rightsOf(p policy) (all []right) {
	for i, s := range p["Statement"].([]any) {
		actions, ok := s.(map[string]any)["Action"].([]any)
		if !ok {
			actions = []any{s.(map[string]any)["Action"]}
		}
		for j, action := range actions {
			var removed policy
			copied, _ := json.Marshal(p)
			_ = json.Unmarshal(copied, &removed)
			// Another right takes its place, because a statement needs one.
			rest := append(slices.Delete(slices.Clone(actions), j, j+1), "sts:GetCallerIdentity")
			removed["Statement"].([]any)[i].(map[string]any)["Action"] = rest
			all = append(all, right{action.(string), fmt.Sprint(s.(map[string]any)["Resource"]), removed})
		}
	}
	return all
}

// publishes has the Lambda replace rules that were changed by hand, and returns
// why it failed.
func (w *strictAWS) publishes() (failure string) {
	w.sent++
	ctx, text := w.t.Context(), rulesText(fmt.Sprint("by hand ", w.sent))
	before, err := w.table.Current(ctx)
	if err == nil {
		set, parseErr := rulefile.Parse("rules.yaml", text)
		if parseErr != nil {
			w.t.Fatal(parseErr)
		}
		_, err = w.table.Publish(ctx, ruletable.Version{Text: text, Document: set.Document(), Note: ruletable.Note{Who: "ada", When: time.Now()}}, before)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	var answer struct{ Status, Reason string }
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
			answer.Reason = err.Error()
		}
	}))
	defer server.Close()
	w.invoke("Operations", map[string]any{
		"RequestType": "Update", "RequestId": fmt.Sprint(w.sent), "StackId": w.stackID, "LogicalResourceId": "Rules", "ResponseURL": server.URL,
		"ResourceProperties": map[string]any{
			"Table": w.physical[w.logical("AWS::DynamoDB::Table", "RateLimitRules")], "Bucket": assets, "Key": "second.yaml",
			"Hash": predeploy.Hash(rulesText("second")), "OnChangedRules": "overwrite",
		},
	})
	if answer.Status != "SUCCESS" {
		return answer.Status + " " + answer.Reason
	}
	return ""
}

// believed is how long the authorizer denies by what it has seen, and a little: then
// it reads the counter again.
const believed = 10500 * time.Millisecond

// decides has the authorizer allow a new caller, and one whose counter was reset
// since it was denied.
func (w *strictAWS) decides() (failure string) {
	w.sent++
	time.Sleep(time.Until(w.resetAt.Add(believed)))
	address := w.reset[0]
	w.reset = w.reset[1:]
	if got := w.decide(fmt.Sprint("198.51.100.", w.sent)); got != "allowed true, degraded false" {
		return "a new caller is " + got
	}
	if got := w.decide(address); got != "allowed true, degraded false" {
		return "a caller whose counter was reset is " + got
	}
	return ""
}

func (w *strictAWS) decide(address string) string {
	var answer struct {
		Context struct{ Allowed, Degraded string }
	}
	out := w.invoke("Function", map[string]any{
		"type": "REQUEST", "methodArn": "arn:aws:execute-api:" + region + ":" + account + ":api/prod/GET/x", "httpMethod": "GET", "path": "/x",
		"requestContext": map[string]any{"identity": map[string]any{"sourceIp": address}},
	})
	if err := json.Unmarshal(out, &answer); err != nil || answer.Context.Allowed == "" {
		return fmt.Sprintf("no decision: %s, error %v", out, err)
	}
	return "allowed " + answer.Context.Allowed + ", degraded " + answer.Context.Degraded
}

// denyAndReset has the callers denied that decides needs, and deletes their
// counters.
func (w *strictAWS) denyAndReset(db *dynamodb.Client, counters string) {
	w.t.Helper()
	for i := range 5 {
		address := fmt.Sprint("203.0.113.", i)
		first, second := w.decide(address), w.decide(address)
		if first != "allowed true, degraded false" || second != "allowed false, degraded false" {
			w.t.Fatalf("%s is %s, then %s", address, first, second)
		}
		w.reset = append(w.reset, address)
	}
	found, err := db.Scan(w.t.Context(), &dynamodb.ScanInput{TableName: &counters})
	if err != nil || len(found.Items) != len(w.reset) {
		w.t.Fatalf("%d counters, error %v", len(found.Items), err)
	}
	for _, item := range found.Items {
		key := map[string]dynamodbtypes.AttributeValue{"k": item["k"]}
		if _, err := db.DeleteItem(w.t.Context(), &dynamodb.DeleteItemInput{TableName: &counters, Key: key}); err != nil {
			w.t.Fatal(err)
		}
	}
	w.resetAt = time.Now()
}

// grants tries what the construct grants to people, as infra/ratelimit lists it:
// commands need all of it, and no more.
func (w *strictAWS) grants(t *testing.T, d *deployment) {
	table := func(name string) string {
		return "arn:aws:dynamodb:" + region + ":" + account + ":table/" + w.physical[w.logical("AWS::DynamoDB::Table", "RateLimit"+name)]
	}
	allow := func(resource string, actions ...any) any {
		return map[string]any{"Effect": "Allow", "Resource": resource, "Action": actions}
	}
	outputs := allow("arn:aws:cloudformation:"+region+":"+account+":stack/"+stack+"/*", "cloudformation:DescribeStacks")
	const from = "stack://" + stack
	tests := []struct {
		name       string
		statements []any
		commands   [][]string
	}{
		{"GrantReadRules", []any{outputs, allow(table("Rules"), "dynamodb:GetItem", "dynamodb:Query")}, [][]string{
			{"rules", "list", "--rules", from}, {"rules", "get", "--rules", from}, {"rules", "history", "--rules", from},
		}},
		{"GrantPublishRules", []any{outputs, allow(table("Rules"), "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query")}, [][]string{
			{"rules", "apply", "FILE", "--rules", from}, {"rules", "rollback", "1", "--why", "test", "--rules", from},
		}},
		{"GrantReadCounters", []any{outputs, allow(table("Rules"), "dynamodb:GetItem"), allow(table("Counters"), "dynamodb:GetItem")}, [][]string{
			{"inspect", "ip:203.0.113.9", "--rules", from, "--store", from},
		}},
	}
	for _, tt := range tests {
		p := policy{"Version": "2012-10-17", "Statement": tt.statements}
		user := w.newUser(tt.name)
		user.put(p)
		if failure := user.run(d, tt.commands); failure != "" {
			t.Fatalf("with %s: %s", tt.name, failure)
		}
		for _, right := range rightsOf(p) {
			t.Run(tt.name+" without "+right.action, func(t *testing.T) {
				user.put(right.removed)
				failure := user.run(d, tt.commands)
				if failure == "" {
					t.Errorf("without %s on %s nothing fails", right.action, right.resource)
				}
				t.Logf("%.200s", failure)
			})
		}
	}
}

// user is a user with one policy.
type user struct {
	*strictAWS
	name, id, secret string
}

func (w *strictAWS) newUser(name string) user {
	var got struct {
		ID     string `xml:"CreateAccessKeyResult>AccessKey>AccessKeyId"`
		Secret string `xml:"CreateAccessKeyResult>AccessKey>SecretAccessKey"`
	}
	w.iam("CreateUser", "UserName", name)
	if err := xml.Unmarshal(w.iam("CreateAccessKey", "UserName", name), &got); err != nil {
		w.t.Fatal(err)
	}
	return user{w, name, got.ID, got.Secret}
}

func (u user) put(p policy) {
	document, err := json.Marshal(p)
	if err != nil {
		u.t.Fatal(err)
	}
	u.iam("PutUserPolicy", "UserName", u.name, "PolicyName", "granted", "PolicyDocument", string(document))
}

// run runs commands as the user, up to the first that fails. FILE is a new rules
// file.
func (u user) run(d *deployment, commands [][]string) (failure string) {
	for _, args := range commands {
		if i := slices.Index(args, "FILE"); i >= 0 {
			u.sent++
			args = slices.Clone(args)
			args[i] = filepath.Join(u.t.TempDir(), "rules.yaml")
			if err := os.WriteFile(args[i], rulesText(fmt.Sprint("by ", u.name, " ", u.sent)), 0o600); err != nil {
				u.t.Fatal(err)
			}
		}
		command := exec.CommandContext(u.t.Context(), d.cli, args...)
		command.Env = []string{
			"AWS_ENDPOINT_URL=" + u.endpoint, "AWS_REGION=" + region, "AWS_ACCESS_KEY_ID=" + u.id, "AWS_SECRET_ACCESS_KEY=" + u.secret,
			"AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "USER=test", "HOME=/nonexistent",
		}
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Sprintf("%s: %.300s", strings.Join(args, " "), out)
		}
	}
	return ""
}
