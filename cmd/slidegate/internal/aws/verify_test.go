package aws

import (
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slidegate/slidegate/internal/lambda/predeploy"
)

// TestPlantedCode: somebody with write access to the bucket puts other code there,
// before the upload looks or after. The deployment stops with both hashes.
func TestPlantedCode(t *testing.T) {
	const planted = "some other code"
	o := release(t)
	key, hash, content := map[string]string{}, map[string]string{}, map[string]string{}
	for i, name := range []string{"authorizer", "operations"} {
		data, err := os.ReadFile(o.Code[i])
		if err != nil {
			t.Fatal(err)
		}
		content[name], hash[name] = string(data), predeploy.Hash(data)
		key[name] = "slidegate-123456789012-eu-north-1/" + prefix + hash[name] + ".zip"
	}
	lies := func(name string, o object) func(*cloud) { return func(c *cloud) { c.objects[key[name]] = o } }
	swaps := func(name string) func(*cloud) {
		return func(c *cloud) { c.swap = lies(name, newObject(planted)) }
	}
	refused := func(call string, then func(*cloud)) func(*cloud) {
		return func(c *cloud) { then(c); c.refuse[call] = refusal("S3", call, "AccessDenied", "Access Denied") }
	}
	isNot := func(i int, name string) string {
		return "s3://" + key[name] + " is not " + o.Code[i] + ": its SHA-256 is " + predeploy.Hash([]byte(planted)) + ", and that of the file is " + hash[name] + "; "
	}
	runs := func(function, name string) string {
		return "stack shop is deployed, but it may not run the code of this command: function " + function + " runs other code: its SHA-256 is " + predeploy.Hash([]byte(planted)) + ", and that of the deployed zip is " + hash[name] + "; "
	}
	for _, test := range []struct {
		name    string
		prepare func(*cloud)
		want    string // an error; "" for none
		created bool
	}{
		{"the same code", lies("authorizer", newObject(content["authorizer"])), "", true},
		{"the same code, uploaded in parts", lies("authorizer", object{content["authorizer"], "nlmFWpWzM2sDr5HbVrpWpWzM2sDr5HbVrpWpWzM2sDg=-2"}), "", true},
		{"the same code, without a checksum", lies("authorizer", object{content["authorizer"], ""}), "", true},
		{"other code", lies("authorizer", newObject(planted)), isNot(0, "authorizer"), false},
		{"other code of the Lambda that publishes", lies("operations", newObject(planted)), isNot(1, "operations"), false},
		{"other code, uploaded in parts", lies("authorizer", object{planted, "nlmFWpWzM2sDr5HbVrpWpWzM2sDr5HbVrpWpWzM2sDg=-2"}), isNot(0, "authorizer"), false},
		{"other code, without a checksum", lies("authorizer", object{planted, ""}), isNot(0, "authorizer"), false},
		{"an object that cannot be read", refused("read", lies("authorizer", object{planted, ""})), "read s3://" + key["authorizer"] + ", to compare it with ", false},
		{"other code after the upload", swaps("authorizer"), runs("f", "authorizer"), true},
		{"other code of the Lambda that publishes after the upload", swaps("operations"), runs("o", "operations"), true},
		{"no right to read a function", refused("GetFunctionConfiguration", func(*cloud) {}), "stack shop is deployed, but it may not run the code of this command: AWS does not permit the call", true},
		{"no right to list resources", refused("DescribeStackResources", func(*cloud) {}), "stack shop is deployed, but it may not run the code of this command: AWS does not permit the call", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, o := newCloud(), o
			c.script = creates
			c.buckets["slidegate-123456789012-eu-north-1"] = testRegion
			test.prepare(c)
			_, err := c.account().Deploy(t.Context(), o, &listener{})
			if (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v\nwant %s", err, test.want)
			}
			if created := c.stacks["shop"] != nil; created != test.created {
				t.Errorf("created: %t, want %t", created, test.created)
			}
		})
	}
}

// TestRunsOtherCode: a deployment without changes compares the functions too, and
// says how to give one its code again.
func TestRunsOtherCode(t *testing.T) {
	c, o := newCloud(), release(t)
	c.script = creates
	if _, err := c.account().Deploy(t.Context(), o, &listener{}); err != nil {
		t.Fatal(err)
	}
	c.keep("shop")
	c.runs["o"] = newObject("by hand").checksum
	_, err := c.account().Deploy(t.Context(), o, &listener{})
	want := "find out who, and deploy again, which compares the object; if this remains, run `aws lambda update-function-code --function-name o --s3-bucket slidegate-123456789012-eu-north-1 --s3-key " + c.sent[operationsKey] + "`, and deploy once more"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
	delete(c.runs, "o")
	_, err = c.account().Deploy(t.Context(), o, &listener{})
	if err == nil || !strings.HasSuffix(err.Error(), "it has no function whose logical id ends in Operations") {
		t.Errorf("without the function: %v", err)
	}
}

// keep has a stack state the parameters that were sent.
func (c *cloud) keep(stack string) {
	for name, value := range c.sent {
		c.stacks[stack].Parameters = append(c.stacks[stack].Parameters, types.Parameter{ParameterKey: aws.String(name), ParameterValue: aws.String(value)})
	}
	c.stacks[stack].StackStatus = types.StackStatusCreateComplete
}
