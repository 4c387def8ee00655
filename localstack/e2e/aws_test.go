//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	resttypes "github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/lambda/predeploy"
)

var updatePage = flag.Bool("update-deploy", false, "write what the commands of docs/deploy.md print into it")

const deployPage = root + "/docs/deploy.md"

// TestDeployByCommand follows docs/deploy.md on an empty account whose emulator
// evaluates policies. The deployments have the rights of `slidegate aws policy`.
func TestDeployByCommand(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := newCommand(t)
	text, err := os.ReadFile(deployPage)
	if err != nil {
		t.Fatal(err)
	}
	api := c.newAPI()
	sessions := 0
	page := regexp.MustCompile("(?ms)^```(yaml|console)\n(.*?)^```$").ReplaceAllStringFunc(string(text), func(block string) string {
		kind, body, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(block, "```"), "```"), "\n")
		if kind == "yaml" {
			c.save(strings.TrimPrefix(strings.SplitN(body, "\n", 2)[0], "# "), body)
			return block
		}
		var b strings.Builder
		for _, line := range regexp.MustCompile(`(?m)^\$ slidegate .*$`).FindAllString(body, -1) {
			b.WriteString(line + "\n" + c.session(strings.TrimPrefix(line, "$ slidegate ")))
		}
		if sessions++; sessions == 1 {
			c.denies()
		}
		if strings.Contains(b.String(), "\nattached: ") {
			c.limits(api)
		}
		return "```console\n" + b.String() + "```"
	})
	if *updatePage {
		err = os.WriteFile(deployPage, []byte(page), 0o644)
	} else if diff := cmp.Diff(string(text), page); diff != "" {
		t.Errorf("run go test -tags e2e ./localstack/e2e -run TestDeployByCommand -update-deploy if %s is out of date (-want +got):\n%s", deployPage, diff)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.examined()
	c.refusesOtherCode()
	if *wide {
		c.needsItsRights()
		c.deploysByRole()
	}
}

// newAPI makes the REST API that the page attaches, and returns its address.
func (c *shop) newAPI() (address string) {
	ctx, rest, id := c.t.Context(), apigateway.NewFromConfig(c.cfg), aws.String("a1b2c3d4e5")
	defer catch(c.t)
	must(rest.CreateRestApi(ctx, &apigateway.CreateRestApiInput{Name: aws.String("shop"), Tags: map[string]string{"ms-custom-id": *id}}))
	root := must(rest.GetResources(ctx, &apigateway.GetResourcesInput{RestApiId: id})).Items[0].Id
	items := must(rest.CreateResource(ctx, &apigateway.CreateResourceInput{RestApiId: id, ParentId: root, PathPart: aws.String("items")})).Id
	for _, verb := range []string{"GET", "POST", "OPTIONS"} {
		must(rest.PutMethod(ctx, &apigateway.PutMethodInput{RestApiId: id, ResourceId: items, HttpMethod: &verb, AuthorizationType: aws.String("NONE")}))
		must(rest.PutIntegration(ctx, &apigateway.PutIntegrationInput{RestApiId: id, ResourceId: items, HttpMethod: &verb, Type: resttypes.IntegrationTypeMock,
			RequestTemplates: map[string]string{"application/json": `{"statusCode": 200}`}}))
		must(rest.PutMethodResponse(ctx, &apigateway.PutMethodResponseInput{RestApiId: id, ResourceId: items, HttpMethod: &verb, StatusCode: aws.String("200")}))
		must(rest.PutIntegrationResponse(ctx, &apigateway.PutIntegrationResponseInput{RestApiId: id, ResourceId: items, HttpMethod: &verb, StatusCode: aws.String("200")}))
	}
	must(rest.CreateDeployment(ctx, &apigateway.CreateDeploymentInput{RestApiId: id, StageName: aws.String("prod")}))
	return c.endpoint + "/restapis/" + *id + "/prod/_user_request_/items"
}

// limits has the eleventh request of an API denied.
func (c *shop) limits(api string) {
	for i := range 11 {
		want := http.StatusOK
		if i == 10 {
			want = http.StatusTooManyRequests
		}
		if got := statusOf(c.t, api); got != want {
			c.t.Fatalf("request %d is answered %d, want %d", i+1, got, want)
		}
	}
}

// withTLS returns the address of a proxy that has an emulator take requests for
// such with TLS, which the policy of the bucket requires.
func withTLS(t *testing.T, emulator string) (address string) {
	t.Helper()
	target, err := url.Parse(emulator)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
		r.Out.Header.Set("X-Forwarded-Proto", "https")
	}, ErrorLog: log.New(io.Discard, "", 0)})
	t.Cleanup(server.Close)
	return server.URL
}

// shop is the command on an account. Its calls are those of a user with the rights
// of a policy, or of the account's root.
type shop struct {
	*strictAWS
	dir, policy string
	code        []string // flags in place of what a released command carries
	key, secret string   // of the user
}

// newShop builds the command, and what a released one carries.
func newShop(t *testing.T, endpoint string) *shop {
	t.Helper()
	c := &shop{strictAWS: &strictAWS{t: t, endpoint: endpoint}, dir: t.TempDir(), key: "test", secret: "test"}
	c.cfg = aws.Config{Region: region, BaseEndpoint: &c.endpoint, Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}
	c.code = append(build(t, c.dir, runtime.GOARCH), "--architecture", architecture(t))
	return c
}

// build builds the command into a directory, and what a released one carries. It
// returns the flags that have the command take that.
func build(t *testing.T, dir, goarch string) (flags []string) {
	t.Helper()
	command(t, root+"/infra", "go", "run", "./lambdazip", "-goarch", goarch, "-o", dir, "authorizer", "operations")
	command(t, root, "go", "build", "-o", filepath.Join(dir, "slidegate"), "./cmd/slidegate")
	command(t, root+"/infra", "go", "run", ".", "-version", "v0.2.0", "-template", filepath.Join(dir, "template.json"))
	flags = []string{"--template", "template.json"}
	for _, name := range []string{"authorizer", "operations"} {
		flags = append(flags, "--code", name+"_"+goarch+".zip")
	}
	return flags
}

// newCommand returns the command as a user of an emulator that evaluates
// policies.
func newCommand(t *testing.T) *shop {
	t.Helper()
	c := newShop(t, startStrict(t))
	c.policy, _ = c.run("aws", "policy")
	var created struct {
		Key    string `xml:"CreateAccessKeyResult>AccessKey>AccessKeyId"`
		Secret string `xml:"CreateAccessKeyResult>AccessKey>SecretAccessKey"`
	}
	c.iam("CreateUser", "UserName", "ann")
	c.permit(c.policy)
	if err := xml.Unmarshal(c.iam("CreateAccessKey", "UserName", "ann"), &created); err != nil || created.Key == "" {
		t.Fatalf("no access key: %+v, %v", created, err)
	}
	c.key, c.secret = created.Key, created.Secret
	return c
}

func (c *shop) permit(policy string) {
	c.t.Helper()
	c.iam("PutUserPolicy", "UserName", "ann", "PolicyName", "deploy", "PolicyDocument", policy)
}

func (c *shop) save(name, text string) {
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// run runs the command, and returns all that it prints in its order.
func (c *shop) run(args ...string) (printed string, code int) {
	c.t.Helper()
	key, secret := "test", "test"
	if args[0] == "aws" && args[1] != "policy" {
		key, secret = c.key, c.secret
		if args[1] == "deploy" {
			args = append(append(args, "--yes"), c.code...)
		}
	}
	cmd := exec.CommandContext(c.t.Context(), "./slidegate", args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+c.endpoint, "AWS_ACCESS_KEY_ID="+key, "AWS_SECRET_ACCESS_KEY="+secret, "AWS_REGION="+region)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		c.t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// varying are what differs from run to run, and what the page has instead.
var varying = []struct{ pattern, instead string }{
	{`(?m)^ *\d+ s  `, "   … s  "},
	{`(slidegate-RateLimit[A-Z][a-z]+)[0-9A-F]{8}-\w+`, "$1…"},
	{`(RateLimitLog)[0-9A-F]{8}`, "$1…"},
	{`_(amd64|arm64)\.zip`, "_….zip"},
	{`deployment \w+,`, "deployment …,"},
	{`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`, "2026-…Z"},
	{`(?m)(?:^   … s  (updated|deleted)  .*\n){2,}`, "   … s  $1  …\n"}, // the first session names them
}

// session runs a line of the page, and returns what the page shows of it.
func (c *shop) session(line string) string {
	var args []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 0 {
			args = append(args, strings.Fields(part)...)
		} else {
			args = append(args, part)
		}
	}
	printed, code := c.run(args...)
	if code != 0 {
		printed += fmt.Sprintf("exit %d\n", code)
	}
	for _, v := range varying {
		printed = regexp.MustCompile(v.pattern).ReplaceAllString(printed, v.instead)
	}
	return printed
}

// unchecked by the emulator, or needed only if a new bucket cannot be protected.
var uncheckedCalls = []string{"s3:GetObject", "s3:DeleteBucket"}

// needsItsRights removes each right for CloudFormation and S3 from the policy.
// A first deployment, an update or the deletion has to fail, and to name it.
func (c *shop) needsItsRights() {
	for _, right := range regexp.MustCompile(`(?:cloudformation|s3):\w+`).FindAllString(c.policy, -1) {
		if slices.Contains(uncheckedCalls, right) {
			continue
		}
		c.t.Run("without "+right, func(t *testing.T) {
			if right != "s3:ListBucket" { // that of a bucket which is there
				c.removeBucket(t)
			}
			c.permit(strings.Replace(c.policy, `"`+right+`"`, `"sts:GetCallerIdentity"`, 1))
			for _, line := range []string{"aws deploy --rules rules.yaml", "aws deploy --rules next.yaml", "aws delete --yes"} {
				if printed, code := c.run(strings.Fields(line)...); code != 0 {
					if !strings.Contains(printed, "AWS does not permit the call: "+right) {
						t.Errorf("%s prints %s", line, printed)
					}
					c.permit(c.policy)
					c.remove(t)
					return
				}
			}
			t.Error("nothing fails")
		})
	}
}

// refusesOtherCode puts other code into the bucket under the name of the
// authorizer's, with and without a checksum, and expects that nothing is deployed.
func (c *shop) refusesOtherCode() {
	bucket, sum := aws.String("slidegate-"+account+"-"+region), predeploy.Hash([]byte("other code"))
	objects := s3.NewFromConfig(c.cfg, func(o *s3.Options) {
		o.UsePathStyle, o.RequestChecksumCalculation = true, aws.RequestChecksumCalculationWhenRequired
	})
	zip, err := os.ReadFile(filepath.Join(c.dir, "authorizer_"+runtime.GOARCH+".zip"))
	if err != nil {
		c.t.Fatal(err)
	}
	key := aws.String("slidegate/" + predeploy.Hash(zip) + ".zip")
	for _, algorithm := range []types.ChecksumAlgorithm{"", types.ChecksumAlgorithmSha256} {
		_, err := objects.PutObject(c.t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: key, Body: strings.NewReader("other code"), ChecksumAlgorithm: algorithm})
		if err != nil {
			c.t.Fatal(err)
		}
		if printed, code := c.run("aws", "deploy"); code == 0 || !strings.Contains(printed, "its SHA-256 is "+sum+", and that of the file is "+predeploy.Hash(zip)) {
			c.t.Errorf("other code with checksum %q: %s", algorithm, printed)
		}
	}
	if _, err := objects.DeleteObject(c.t.Context(), &s3.DeleteObjectInput{Bucket: bucket, Key: key}); err != nil {
		c.t.Fatal(err)
	}
}

// deploysByRole deploys and deletes with the rights of a caller who leaves the stack
// to a role of CloudFormation.
func (c *shop) deploysByRole() {
	const role = "arn:aws:iam::" + account + ":role/deploy"
	printed, _ := c.run("aws", "policy", "--role-arn", role)
	var policies struct{ Caller json.RawMessage }
	if err := json.Unmarshal([]byte(printed), &policies); err != nil {
		c.t.Fatal(err)
	}
	c.permit(string(policies.Caller))
	for _, line := range []string{"aws deploy --rules rules.yaml --role-arn " + role, "aws delete --yes --role-arn " + role} {
		if printed, code := c.run(strings.Fields(line)...); code != 0 {
			c.t.Errorf("%s prints %s", line, printed)
		}
	}
}

// remove deletes the stack, if there is one, once AWS has gone on to its end.
func (c *shop) remove(t *testing.T) {
	waiter := cloudformation.NewStackCreateCompleteWaiter(cloudformation.NewFromConfig(c.cfg), func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 200*time.Millisecond, time.Second
	})
	if err := waiter.Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("slidegate")}, time.Minute); err != nil {
		return // there is none
	}
	if printed, code := c.run("aws", "delete", "--yes"); code != 0 {
		t.Fatal(printed)
	}
}

// removeBucket removes the bucket that a deployment has created.
func (c *shop) removeBucket(t *testing.T) {
	bucket := aws.String("slidegate-" + account + "-" + region)
	objects := s3.NewFromConfig(c.cfg, func(o *s3.Options) { o.UsePathStyle = true })
	list, err := objects.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: bucket})
	if missing := new(types.NoSuchBucket); errors.As(err, &missing) {
		return
	}
	if err == nil {
		for _, o := range list.Contents {
			_, err = objects.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: bucket, Key: o.Key})
		}
	}
	if err == nil {
		_, err = objects.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: bucket})
	}
	if err != nil {
		t.Fatal(err)
	}
}
