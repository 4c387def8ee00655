//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/slidegate/slidegate/internal/lambda/predeploy"
)

// deploysRules changes the rules of the deployed stack in every way. It updates the
// stack as CDK does, with a template of which it changes the custom resource.
func (d *deployment) deploysRules(t *testing.T) {
	u := newUpdates(t, d)
	before := d.history(t)
	if len(before) != 1 || before[0] != "0>1 cloudformation Slidegate: deployment" {
		t.Fatalf("the deployment wrote the history %q; did the emulator have the stack before? Then stop it by make local-down", before)
	}
	old, err := os.ReadFile(d.file)
	if err != nil {
		t.Fatal(err)
	}
	text := func(comment string) []byte { return append([]byte("# "+comment+"\n"), old...) }
	steps := []struct {
		name   string
		change change
		hand   []string // a command before
		status types.StackStatus
		reason string // of the failure
		want   string // the first entry of the history
	}{
		{"an unchanged file publishes nothing", u.why("another reason"), nil, types.StackStatusUpdateComplete, "", "0>1 cloudformation Slidegate: deployment"},
		{"a changed file is published", u.publish(text("second")), nil, types.StackStatusUpdateComplete, "", "1>2 cloudformation Slidegate: another reason"},
		{
			"rules changed by hand fail it", u.publish(text("third")),
			[]string{"rules", "apply", u.write(text("by hand")), "--rules", d.rules, "--who", "ada", "--why", "launch week"},
			types.StackStatusUpdateRollbackComplete, "version 3 of table " + d.rules[len("dynamodb://"):] + " is by ada, at ", "2>3 ada: launch week",
		},
		{
			"after a rollback by hand it is published", u.publish(text("third")),
			[]string{"rules", "rollback", "2", "--rules", d.rules, "--who", "ada", "--why", "discard"},
			types.StackStatusUpdateComplete, "", "2>4 cloudformation Slidegate: another reason",
		},
		{
			"a rollback of the stack publishes the old text", func(resources map[string]any) {
				u.publish(text("fourth"))(resources)
				resources["Fails"] = resource{"Type": "Custom::SlidegateRules", "DependsOn": []any{u.id}, "Properties": map[string]any{
					"ServiceToken": resources[u.id].(resource)["Properties"].(map[string]any)["ServiceToken"], "Table": "none",
				}}
			}, nil, types.StackStatusUpdateRollbackComplete, "property Bucket of Fails is missing", "5>6 cloudformation Slidegate: another reason",
		},
	}
	for _, s := range steps {
		if s.hand != nil {
			command(t, ".", d.cli, s.hand...)
		}
		status, reason := u.update(s.change)
		if status != s.status || !strings.Contains(reason, s.reason) {
			t.Fatalf("%s: the stack is in %s because of %q, want %s and %q", s.name, status, reason, s.status, s.reason)
		}
		if got := d.history(t)[0]; got != s.want {
			t.Fatalf("%s: the last change is %q, want %q", s.name, got, s.want)
		}
	}
	if got := command(t, ".", d.cli, "rules", "get", "--rules", d.rules); !bytes.HasPrefix(got, []byte("# third\n")) {
		t.Errorf("after the rollback these rules are in force:\n%.200s", got)
	}
}

// history returns which versions came into force, newest first.
func (d *deployment) history(t *testing.T) (lines []string) {
	t.Helper()
	var report struct {
		Events []struct {
			From int64 `json:"from_version"`
			To   int64 `json:"to_version"`
			Who  string
			Why  string
		}
	}
	out := command(t, ".", d.cli, "rules", "history", "--json", "--rules", d.rules)
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, e := range report.Events {
		if e.To == 0 { // of an API key
			continue
		}
		lines = append(lines, fmt.Sprintf("%d>%d %s: %s", e.From, e.To, e.Who, e.Why))
	}
	return lines
}

// resource is a resource of a template.
type resource = map[string]any

// updates are updates of the stack by the API.
type updates struct {
	t       *testing.T
	stacks  *cloudformation.Client
	objects *s3.Client
	id      string // of the custom resource
}

func newUpdates(t *testing.T, d *deployment) *updates {
	cfg := aws.Config{
		Region: region, BaseEndpoint: aws.String(localEndpoint(t)), Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}
	u := &updates{t: t, stacks: cloudformation.NewFromConfig(cfg), objects: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })}
	for id, r := range u.template()["Resources"].(map[string]any) {
		if r.(resource)["Type"] == "Custom::SlidegateRules" {
			u.id = id
		}
	}
	return u
}

// stack is the name of the sample.
const stack = "Slidegate"

func (u *updates) template() (template map[string]any) {
	out, err := u.stacks.GetTemplate(u.t.Context(), &cloudformation.GetTemplateInput{StackName: aws.String(stack)})
	if err == nil {
		err = json.Unmarshal([]byte(*out.TemplateBody), &template)
	}
	if err != nil {
		u.t.Fatal(err)
	}
	return template
}

// change is a change of a stack's resources.
type change = func(resources map[string]any)

func (u *updates) why(reason string) change {
	return func(resources map[string]any) {
		resources[u.id].(resource)["Properties"].(map[string]any)["Why"] = reason
	}
}

// publish uploads a rules file, and deploys it by the default of OnChangedRules.
func (u *updates) publish(text []byte) change {
	return func(resources map[string]any) {
		properties := resources[u.id].(resource)["Properties"].(map[string]any)
		key := predeploy.Hash(text) + ".yaml"
		u.upload(key, text)
		properties["Key"], properties["Hash"], properties["OnChangedRules"] = key, predeploy.Hash(text), "fail"
	}
}

// upload uploads to CDK's bucket, and returns the object's address. Templates go
// that way too, because the sample's is larger than a call takes.
func (u *updates) upload(key string, data []byte) (address *string) {
	if _, err := u.objects.PutObject(u.t.Context(), &s3.PutObjectInput{Bucket: aws.String(assets), Key: &key, Body: bytes.NewReader(data)}); err != nil {
		u.t.Fatal(err)
	}
	return aws.String(localEndpoint(u.t) + "/" + assets + "/" + key)
}

// write writes a rules file, and returns its path.
func (u *updates) write(text []byte) (path string) {
	path = filepath.Join(u.t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		u.t.Fatal(err)
	}
	return path
}

// update updates the stack. It returns the status afterwards, and the reason of
// the resource that failed.
func (u *updates) update(c change) (status types.StackStatus, reason string) {
	u.t.Helper()
	template := u.template()
	c(template["Resources"].(map[string]any))
	body, err := json.Marshal(template)
	if err != nil {
		u.t.Fatal(err)
	}
	token := fmt.Sprint("update-", time.Now().UnixNano())
	if _, err := u.stacks.UpdateStack(u.t.Context(), &cloudformation.UpdateStackInput{
		StackName: aws.String(stack), TemplateURL: u.upload("template.json", body), ClientRequestToken: &token,
		Capabilities: []types.Capability{types.CapabilityCapabilityIam},
	}); err != nil {
		u.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out, err := u.stacks.DescribeStacks(u.t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String(stack)})
		if err != nil {
			u.t.Fatal(err)
		}
		status = out.Stacks[0].StackStatus
		if !strings.HasSuffix(string(status), "_IN_PROGRESS") {
			return status, u.failure(token)
		}
		if time.Now().After(end) {
			u.t.Fatalf("after a minute the stack is in %s", status)
		}
	}
}

// failure returns why an update failed; "" if it did not.
func (u *updates) failure(token string) string {
	events, err := u.stacks.DescribeStackEvents(u.t.Context(), &cloudformation.DescribeStackEventsInput{StackName: aws.String(stack)})
	if err != nil {
		u.t.Fatal(err)
	}
	for _, e := range events.StackEvents {
		if aws.ToString(e.ClientRequestToken) == token && strings.HasSuffix(string(e.ResourceStatus), "_FAILED") {
			return aws.ToString(e.ResourceStatusReason)
		}
	}
	return ""
}
