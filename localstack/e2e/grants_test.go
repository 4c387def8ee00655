//go:build e2e

package e2e

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
