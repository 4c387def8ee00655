//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/slidegate/slidegate/internal/lambda/predeploy"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// stack is the name of the sample.
const stack = "Slidegate"

// resource is a resource of a template.
type resource = map[string]any

// strictAWS is an emulator that evaluates policies, with a limiter.
type strictAWS struct {
	t         *testing.T
	endpoint  string
	cfg       aws.Config
	resources map[string]any    // of the template
	physical  map[string]string // ids by logical ones
	stackID   string
	table     *ruletable.Table
	reset     []string // addresses that were denied, and whose counters were reset then
	resetAt   time.Time
	sent      int // events
}

func newStrictAWS(t *testing.T, d *deployment) *strictAWS {
	t.Helper()
	w := &strictAWS{t: t, endpoint: startStrict(t), physical: map[string]string{}}
	w.cfg = aws.Config{Region: region, BaseEndpoint: &w.endpoint, Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}
	w.upload(d)
	w.createStack(d)
	db := dynamodb.NewFromConfig(w.cfg)
	w.table = ruletable.New(db, w.physical[w.logical("AWS::DynamoDB::Table", "RateLimitRules")])
	w.denyAndReset(db, w.physical[w.logical("AWS::DynamoDB::Table", "RateLimitCounters")])
	return w
}

// startStrict starts MiniStack with AUTH, and stops it when the test ends.
func startStrict(t *testing.T) (endpoint string) {
	t.Helper()
	program, err := filepath.Abs(root + "/.cache/ministack/bin/ministack")
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		t.Fatalf("policies are evaluated by MiniStack alone, which is not installed: run localstack/up.sh without AWS_ENDPOINT_URL once: %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	listener.Close()
	endpoint = withTLS(t, "http://127.0.0.1:"+port)
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program)
	command.Dir, command.Stdout, command.Stderr = dir, log, log
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "AUTH=true", "BIND_HOST=127.0.0.1", "GATEWAY_PORT=" + port,
		"IOT_MTLS_ENABLED=0", "AWS_ENDPOINT_URL=" + endpoint,
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait()
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get(endpoint + "/_localstack/health")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return endpoint
			}
		}
		if time.Now().After(end) {
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("MiniStack does not answer: %v\n%s", err, text)
		}
	}
}

// rulesText is a rules file whose comment tells it from others.
func rulesText(comment string) []byte {
	return []byte("# " + comment + "\nrules:\n  - {name: api, key: \"ip:{ip}\", overrides: true, limits: [{capacity: 1, window: 1h}]}\n")
}

// upload uploads the Lambdas' code, and the rules.
func (w *strictAWS) upload(d *deployment) {
	w.t.Helper()
	files := map[string][]byte{"first.yaml": rulesText("first"), "second.yaml": rulesText("second")}
	for _, name := range []string{"authorizer", "operations"} {
		found, err := filepath.Glob(filepath.Join(d.dir, name+"_*.zip"))
		if err == nil && len(found) == 1 {
			files[name+".zip"], err = os.ReadFile(found[0])
		}
		if err != nil || len(found) != 1 {
			w.t.Fatalf("the zip of %s: %v, error %v", name, found, err)
		}
	}
	objects := s3.NewFromConfig(w.cfg, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := objects.CreateBucket(w.t.Context(), &s3.CreateBucketInput{Bucket: aws.String(assets)}); err != nil {
		w.t.Fatal(err)
	}
	for key, data := range files {
		if _, err := objects.PutObject(w.t.Context(), &s3.PutObjectInput{Bucket: aws.String(assets), Key: &key, Body: bytes.NewReader(data)}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// createStack creates a stack with the limiter's part of the sample's template:
// all but its APIs, its alarms and its dashboard.
func (w *strictAWS) createStack(d *deployment) {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(d.dir, "cdk.out", stack+".template.json"))
	var template map[string]any
	if err == nil {
		err = json.Unmarshal(data, &template)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.resources = map[string]any{}
	for id, r := range template["Resources"].(map[string]any) {
		r := r.(resource)
		properties, _ := r["Properties"].(map[string]any)
		switch kind := r["Type"].(string); {
		case !strings.HasPrefix(id, "RateLimit"), strings.Contains(kind, "ApiGateway"), strings.Contains(kind, "CloudWatch"), strings.HasSuffix(kind, "::Permission"):
			continue
		case kind == "AWS::Lambda::Function":
			key := "authorizer.zip"
			if properties["Handler"] == "publish" {
				key = "operations.zip"
			}
			properties["Code"] = map[string]any{"S3Bucket": assets, "S3Key": key}
		case kind == "Custom::SlidegateRules":
			properties["Key"], properties["Hash"] = "first.yaml", predeploy.Hash(rulesText("first"))
		}
		w.resources[id] = r
	}
	outputs := map[string]any{}
	for id, o := range template["Outputs"].(map[string]any) {
		if strings.HasPrefix(id, "RateLimit") {
			outputs[id] = o
		}
	}
	body, err := json.Marshal(map[string]any{"Resources": w.resources, "Outputs": outputs})
	if err != nil {
		w.t.Fatal(err)
	}
	stacks := cloudformation.NewFromConfig(w.cfg)
	out, err := stacks.CreateStack(w.t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String(stack), TemplateBody: aws.String(string(body)), Capabilities: []types.Capability{types.CapabilityCapabilityIam},
	})
	if err == nil {
		w.stackID = *out.StackId
		err = cloudformation.NewStackCreateCompleteWaiter(stacks, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
			o.MinDelay, o.MaxDelay = 200*time.Millisecond, time.Second
		}).Wait(w.t.Context(), &cloudformation.DescribeStacksInput{StackName: out.StackId}, time.Minute)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	found, err := stacks.DescribeStackResources(w.t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: aws.String(stack)})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range found.StackResources {
		w.physical[*r.LogicalResourceId] = aws.ToString(r.PhysicalResourceId)
	}
}

// logical returns the logical id of the resource of a type that begins with a
// prefix.
func (w *strictAWS) logical(kind, prefix string) string {
	for id, r := range w.resources {
		if r.(resource)["Type"] == kind && strings.HasPrefix(id, prefix) {
			return id
		}
	}
	w.t.Fatalf("the template has no %s %s…", kind, prefix)
	return ""
}

// send signs a request to a service, and returns the answer.
func (w *strictAWS) send(service, path, contentType string, body []byte) []byte {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.endpoint+path, bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	identity, err := w.cfg.Credentials.Retrieve(w.t.Context())
	if err == nil {
		err = v4.NewSigner().SignHTTP(w.t.Context(), identity, request, predeploy.Hash(body), service, region, time.Now())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		w.t.Fatalf("%s answers %d: %s", service, answer.StatusCode, text)
	}
	return text
}

func (w *strictAWS) iam(action string, parameters ...string) []byte {
	form := url.Values{"Action": {action}, "Version": {"2010-05-08"}}
	for i := 0; i < len(parameters); i += 2 {
		form.Set(parameters[i], parameters[i+1])
	}
	return w.send("iam", "/", "application/x-www-form-urlencoded", []byte(form.Encode()))
}

// policyOf returns the only inline policy of a role.
func (w *strictAWS) policyOf(role string) (name string, p policy) {
	var list struct {
		Names []string `xml:"ListRolePoliciesResult>PolicyNames>member"`
	}
	var got struct {
		Document string `xml:"GetRolePolicyResult>PolicyDocument"`
	}
	err := xml.Unmarshal(w.iam("ListRolePolicies", "RoleName", role), &list)
	if err != nil || len(list.Names) != 1 {
		w.t.Fatalf("the policies of %s are %v, error %v", role, list.Names, err)
	}
	if err = xml.Unmarshal(w.iam("GetRolePolicy", "RoleName", role, "PolicyName", list.Names[0]), &got); err == nil {
		got.Document, err = url.QueryUnescape(got.Document)
	}
	if err == nil {
		err = json.Unmarshal([]byte(got.Document), &p)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return list.Names[0], p
}

func (w *strictAWS) putPolicy(role, name string, p policy) {
	document, err := json.Marshal(p)
	if err != nil {
		w.t.Fatal(err)
	}
	w.iam("PutRolePolicy", "RoleName", role, "PolicyName", name, "PolicyDocument", string(document))
}

func (w *strictAWS) invoke(prefix string, event any) []byte {
	data, err := json.Marshal(event)
	if err != nil {
		w.t.Fatal(err)
	}
	name := w.physical[w.logical("AWS::Lambda::Function", "RateLimit"+prefix)]
	return w.send("lambda", "/2015-03-31/functions/"+name+"/invocations", "application/json", data)
}
