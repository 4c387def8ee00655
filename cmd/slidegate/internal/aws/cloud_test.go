package aws

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slidegate/slidegate/internal/store/dynamo"
)

const testRegion, testAccount = "eu-north-1", "123456789012"

// cloud is an AWS account in memory. Its operations on stacks go as a script says.
type cloud struct {
	CloudFormation // calls that a test does not expect
	S3

	stacks  map[string]*types.Stack
	buckets map[string]string // regions by name; "foreign" for one of another account
	objects map[string]object // by BUCKET/KEY
	swap    func(*cloud)      // between the upload and CloudFormation's reading
	runs    map[string]string // SHA-256 in base64 of the code of functions
	role    string            // with which CloudFormation acts
	events  []types.StackEvent
	script  []string         // the steps of the next operation: RESOURCE STATUS REASON; RESOURCE - is the stack
	refuse  map[string]error // by the name of the call
	kept    []string         // of attached APIs, in the rules table
	calls   []string         // that change something
	sent    map[string]string
	policy  string // of the bucket that was created
}

func newCloud() *cloud {
	return &cloud{stacks: map[string]*types.Stack{}, buckets: map[string]string{}, objects: map[string]object{}, runs: map[string]string{}, refuse: map[string]error{}}
}

func (c *cloud) account() *Account {
	return &Account{CloudFormation: c, S3: c, Functions: c, STS: c, Region: testRegion, Attached: c.attached, Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
}

// attached is of the table that tests name rules.
func (c *cloud) attached(_ context.Context, table string) ([]string, error) {
	if table != "rules" {
		return nil, fmt.Errorf("table %s: %w", table, dynamo.ErrNoTable)
	}
	return c.kept, c.refuse["Query"]
}

// object is an object of S3 with the checksum that S3 states of it.
type object struct{ content, checksum string }

// newObject returns an object whose upload asked for a checksum by SHA-256.
func newObject(content string) object {
	sum := sha256.Sum256([]byte(content))
	return object{content, base64.StdEncoding.EncodeToString(sum[:])}
}

// do records a call that changes something, and refuses it if the test says so.
func (c *cloud) do(call, what string) error {
	if err := c.refuse[call]; err != nil {
		return err
	}
	c.calls = append(c.calls, strings.TrimSpace(call+" "+what))
	return nil
}

// refusal is AWS's answer to a call.
func refusal(service, call, code, message string) error {
	return &smithy.OperationError{ServiceID: service, OperationName: call, Err: &smithy.GenericAPIError{Code: code, Message: message}}
}

func (c *cloud) GetCallerIdentity(context.Context, *sts.GetCallerIdentityInput, ...func(*sts.Options)) (*sts.GetCallerIdentityOutput, error) {
	return &sts.GetCallerIdentityOutput{Account: aws.String(testAccount)}, c.refuse["GetCallerIdentity"]
}

func (c *cloud) DescribeStacks(_ context.Context, in *cloudformation.DescribeStacksInput, _ ...func(*cloudformation.Options)) (*cloudformation.DescribeStacksOutput, error) {
	if err := c.refuse["DescribeStacks"]; err != nil {
		return nil, err
	}
	for name, stack := range c.stacks {
		if *in.StackName == name && stack.StackStatus != types.StackStatusDeleteComplete || *in.StackName == aws.ToString(stack.StackId) {
			return &cloudformation.DescribeStacksOutput{Stacks: []types.Stack{*stack}}, nil
		}
	}
	return nil, refusal("CloudFormation", "DescribeStacks", "ValidationError", "Stack with id "+*in.StackName+" does not exist")
}

// DescribeStackEvents has one event on each page.
func (c *cloud) DescribeStackEvents(_ context.Context, in *cloudformation.DescribeStackEventsInput, _ ...func(*cloudformation.Options)) (*cloudformation.DescribeStackEventsOutput, error) {
	if err := c.refuse["DescribeStackEvents"]; err != nil {
		return nil, err
	}
	var page int
	if in.NextToken != nil {
		fmt.Sscan(*in.NextToken, &page)
	}
	if page == len(c.events) {
		return &cloudformation.DescribeStackEventsOutput{}, nil
	}
	return &cloudformation.DescribeStackEventsOutput{StackEvents: c.events[page : page+1], NextToken: aws.String(fmt.Sprint(page + 1))}, nil
}

// operate plays the script on a stack.
func (c *cloud) operate(stack *types.Stack) {
	for _, step := range c.script {
		words := strings.SplitN(step+"  ", " ", 3)
		event := types.StackEvent{
			StackId: stack.StackId, EventId: aws.String(fmt.Sprint("event-", len(c.events))), Timestamp: aws.Time(time.Unix(int64(len(c.events)), 0)),
			LogicalResourceId: &words[0], PhysicalResourceId: aws.String("id-of-" + words[0]), ResourceType: aws.String("AWS::Test::" + words[0]),
			ResourceStatus: types.ResourceStatus(words[1]), ResourceStatusReason: aws.String(strings.TrimSpace(words[2])),
		}
		if words[0] == "-" {
			event.PhysicalResourceId, stack.StackStatus = stack.StackId, types.StackStatus(words[1])
		}
		if words[0] == "Publish" {
			event.ResourceType = aws.String("Custom::Rules")
		}
		c.events = append([]types.StackEvent{event}, c.events...)
	}
}

// send records the parameters of a stack, and gives its functions their code.
func (c *cloud) send(stack *types.Stack, parameters []types.Parameter, role *string) {
	c.role = aws.ToString(role)
	if c.swap != nil {
		c.swap(c)
	}
	c.sent = map[string]string{}
	for _, p := range parameters {
		c.sent[*p.ParameterKey] = aws.ToString(p.ParameterValue)
		if aws.ToBool(p.UsePreviousValue) {
			c.sent[*p.ParameterKey] = "(previous)"
		}
	}
	for function, key := range map[string]string{"f": authorizerKey, "o": operationsKey} {
		c.runs[function] = newObject(c.objects[c.sent[codeBucket]+"/"+c.sent[key]].content).checksum
	}
	stack.Outputs = outputs("RateLimitCountersTable", "counters", "RateLimitRulesTable", "rules", "RateLimitNext", "slidegate next", versionOutput, "v1.2.0")
}

func (c *cloud) CreateStack(_ context.Context, in *cloudformation.CreateStackInput, _ ...func(*cloudformation.Options)) (*cloudformation.CreateStackOutput, error) {
	if err := c.do("CreateStack", string(in.OnFailure)); err != nil {
		return nil, err
	}
	stack := &types.Stack{StackName: in.StackName, StackId: aws.String("arn:" + *in.StackName)}
	c.stacks[*in.StackName] = stack
	c.send(stack, in.Parameters, in.RoleARN)
	c.operate(stack)
	return &cloudformation.CreateStackOutput{StackId: stack.StackId}, nil
}

func (c *cloud) UpdateStack(_ context.Context, in *cloudformation.UpdateStackInput, _ ...func(*cloudformation.Options)) (*cloudformation.UpdateStackOutput, error) {
	if err := c.do("UpdateStack", ""); err != nil {
		return nil, err
	}
	stack := c.stacks[strings.TrimPrefix(*in.StackName, "arn:")]
	c.send(stack, in.Parameters, in.RoleARN)
	c.operate(stack)
	return &cloudformation.UpdateStackOutput{}, nil
}

func (c *cloud) DeleteStack(_ context.Context, in *cloudformation.DeleteStackInput, _ ...func(*cloudformation.Options)) (*cloudformation.DeleteStackOutput, error) {
	if err := c.do("DeleteStack", ""); err != nil {
		return nil, err
	}
	c.role = aws.ToString(in.RoleARN)
	c.operate(c.stacks[strings.TrimPrefix(*in.StackName, "arn:")])
	return &cloudformation.DeleteStackOutput{}, nil
}

func (c *cloud) HeadBucket(_ context.Context, in *s3.HeadBucketInput, _ ...func(*s3.Options)) (*s3.HeadBucketOutput, error) {
	region, ok := c.buckets[*in.Bucket]
	switch {
	case c.refuse["HeadBucket"] != nil:
		return nil, c.refuse["HeadBucket"]
	case !ok:
		return nil, &smithy.OperationError{ServiceID: "S3", OperationName: "HeadBucket", Err: &s3types.NotFound{}}
	case region == "foreign":
		return nil, refusal("S3", "HeadBucket", "Forbidden", "Forbidden")
	case region != testRegion: // S3 redirects
		response := &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusMovedPermanently, Header: http.Header{"X-Amz-Bucket-Region": {region}}}}
		return nil, &smithyhttp.ResponseError{Response: response, Err: fmt.Errorf("moved")}
	}
	return &s3.HeadBucketOutput{BucketRegion: aws.String(region)}, nil
}

func (c *cloud) CreateBucket(_ context.Context, in *s3.CreateBucketInput, _ ...func(*s3.Options)) (*s3.CreateBucketOutput, error) {
	err := c.do("CreateBucket", *in.Bucket+" in "+string(in.CreateBucketConfiguration.LocationConstraint))
	if err == nil {
		c.buckets[*in.Bucket] = testRegion
	}
	return nil, err
}

func (c *cloud) DeleteBucket(_ context.Context, in *s3.DeleteBucketInput, _ ...func(*s3.Options)) (*s3.DeleteBucketOutput, error) {
	delete(c.buckets, *in.Bucket)
	return nil, c.do("DeleteBucket", *in.Bucket)
}

func (c *cloud) PutBucketPolicy(_ context.Context, in *s3.PutBucketPolicyInput, _ ...func(*s3.Options)) (*s3.PutBucketPolicyOutput, error) {
	c.policy = *in.Policy
	return nil, c.do("PutBucketPolicy", "")
}

func (c *cloud) PutObject(_ context.Context, in *s3.PutObjectInput, _ ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	err := c.do("PutObject", *in.Bucket+"/"+(*in.Key)[:12]+"…"+filepath.Ext(*in.Key))
	if err == nil {
		content, _ := io.ReadAll(in.Body)
		c.objects[*in.Bucket+"/"+*in.Key] = newObject(string(content))
	}
	return nil, err
}

func (c *cloud) GetObject(_ context.Context, in *s3.GetObjectInput, _ ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	o, ok := c.objects[*in.Bucket+"/"+*in.Key]
	if !ok || in.ChecksumMode != s3types.ChecksumModeEnabled {
		return nil, &smithy.OperationError{ServiceID: "S3", OperationName: "GetObject", Err: &s3types.NoSuchKey{}}
	}
	body := io.Reader(strings.NewReader(o.content))
	if err := c.refuse["read"]; err != nil {
		body = iotest.ErrReader(err)
	}
	return &s3.GetObjectOutput{Body: io.NopCloser(body), ChecksumSHA256: &o.checksum}, nil
}

// DescribeStackResources has the functions of a stack, and what else ends in their
// names.
func (c *cloud) DescribeStackResources(context.Context, *cloudformation.DescribeStackResourcesInput, ...func(*cloudformation.Options)) (*cloudformation.DescribeStackResourcesOutput, error) {
	out := &cloudformation.DescribeStackResourcesOutput{}
	for _, r := range [][3]string{{"AWS::Lambda::Permission", "RateLimitFunction00000000", "p"}, {"AWS::Lambda::Function", "RateLimitOperations1550DD4D", "o"},
		{"AWS::Lambda::Function", "RateLimitFunction27A19A2C", "f"}} {
		if r[2] == "p" || c.runs[r[2]] != "" {
			out.StackResources = append(out.StackResources, types.StackResource{ResourceType: &r[0], LogicalResourceId: &r[1], PhysicalResourceId: &r[2]})
		}
	}
	return out, c.refuse["DescribeStackResources"]
}

func (c *cloud) GetFunctionConfiguration(_ context.Context, in *lambda.GetFunctionConfigurationInput, _ ...func(*lambda.Options)) (*lambda.GetFunctionConfigurationOutput, error) {
	return &lambda.GetFunctionConfigurationOutput{CodeSha256: aws.String(c.runs[*in.FunctionName])}, c.refuse["GetFunctionConfiguration"]
}

// outputs returns outputs of pairs of a key and a value.
func outputs(pairs ...string) (all []types.Output) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, types.Output{OutputKey: aws.String(pairs[i]), OutputValue: aws.String(pairs[i+1])})
	}
	return all
}

// release writes what a released command carries, for architecture amd64 too, and
// returns options that name it.
func release(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	o := Options{Stack: "shop", Template: filepath.Join(dir, "template.json")}
	for _, name := range []string{"authorizer_arm64.zip", "operations_arm64.zip"} {
		o.Code = append(o.Code, filepath.Join(dir, name))
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, _ := z.Create("bootstrap") // a buffer takes everything
		_, _ = w.Write([]byte(name))
		if err := errors.Join(z.Close(), os.WriteFile(o.Code[len(o.Code)-1], b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	writeTemplate(t, o.Template, "v1.2.0")
	return o
}

// rulesFile writes a rules file that names the variables of secrets.
func rulesFile(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func writeTemplate(t *testing.T, path, version string) {
	t.Helper()
	text := `{"Parameters": {"CodeBucket": {}, "AuthorizerKey": {}, "OperationsKey": {}, "Architecture": {}, "RulesBucket": {}, "RulesKey": {}, "RulesHash": {},
		"OnChangedRules": {}, "ReceiptSecret": {}, "HashSecret": {}, "OriginSecret": {}, "AlarmTopic": {}, "PermissionsBoundary": {}, "MaxWritesPerDay": {}, "Metrics": {}, "Alarms": {}, "Dashboard": {}, "Decide": {}, "Settle": {}}, "Outputs": {"SlidegateVersion": {"Value": "` + version + `"}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// listener keeps what it hears.
type listener struct {
	told []string
	no   error // the answer to questions
}

func (l *listener) Tell(format string, args ...any) {
	l.told = append(l.told, fmt.Sprintf(format, args...))
}
func (l *listener) Warn(format string, args ...any) { l.Tell("warning: "+format, args...) }
func (l *listener) Event(e Event)                   { l.told = append(l.told, e.Resource+" "+e.Status) }
func (l *listener) Confirm(question string) error {
	l.told = append(l.told, question)
	return l.no
}
