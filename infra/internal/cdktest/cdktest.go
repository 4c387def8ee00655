// Package cdktest runs the CDK in tests and reads back what it synthesized.
package cdktest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
)

// Template is a synthesized CloudFormation template.
type Template struct {
	Resources map[string]Resource
	Outputs   map[string]struct{ Value any }
}

// Resource is one resource of a template. Its properties are decoded JSON.
type Resource struct {
	Type           string
	Properties     map[string]any
	DeletionPolicy string
	Condition      string
	DependsOn      []string
}

// Main is a package's TestMain. It ends the process.
func Main(m *testing.M) {
	if _, err := exec.LookPath("node"); err != nil {
		fail("node is missing, which the CDK runs on: install Node.js 22 or later and put node on PATH")
	}
	// Closing jsii would remove the files that it unpacks. But jsii then waits
	// for its child in two goroutines, which the race detector reports. The
	// child ends with this process anyway.
	dir, err := os.MkdirTemp("", "cdktest")
	if err != nil {
		fail(err.Error())
	}
	os.Setenv("TMPDIR", dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, "cdktest:", message)
	os.Exit(1)
}

// NewApp returns an app with a context, and the directory that it synthesizes
// to.
func NewApp(t *testing.T, context map[string]any) (app awscdk.App, outdir string) {
	t.Helper()
	outdir = t.TempDir()
	return awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false), Outdir: &outdir, Context: &context}), outdir
}

// Synth synthesizes the app of a stack and returns the stack's template.
func Synth(t *testing.T, stack awscdk.Stack) Template {
	t.Helper()
	data, err := json.Marshal(assertions.Template_FromStack(stack, nil).ToJSON())
	if err != nil {
		t.Fatal(err)
	}
	var template Template
	if err := json.Unmarshal(data, &template); err != nil {
		t.Fatal(err)
	}
	return template
}

// Messages synthesizes the app of a stack and returns the messages of a level,
// such as error, that its constructs have for users, as "PATH: MESSAGE".
func Messages(t *testing.T, stack awscdk.Stack, level string) (messages []string) {
	t.Helper()
	stage := awscdk.Stage_Of(stack)
	stage.Synth(nil)
	data, err := os.ReadFile(filepath.Join(*stage.Outdir(), *stack.ArtifactId()+".metadata.json"))
	if err != nil {
		t.Fatal(err)
	}
	var entries map[string][]struct {
		Type string
		Data any
	}
	if err := json.Unmarshal(data, &entries); err != nil {
		t.Fatal(err)
	}
	for path, list := range entries {
		for _, entry := range list {
			if entry.Type == "aws:cdk:"+level {
				messages = append(messages, fmt.Sprint(path, ": ", entry.Data))
			}
		}
	}
	slices.Sort(messages)
	return messages
}

// ID returns the logical id of the only resource of a type whose id starts with
// prefix.
func (template Template) ID(t *testing.T, kind, prefix string) string {
	t.Helper()
	var found []string
	for id, r := range template.Resources {
		if r.Type == kind && strings.HasPrefix(id, prefix) {
			found = append(found, id)
		}
	}
	if len(found) != 1 {
		t.Fatalf("the resources of type %s named %s… are %v, want one", kind, prefix, found)
	}
	return found[0]
}

// One returns the only resource of a type whose logical id starts with prefix.
func (template Template) One(t *testing.T, kind, prefix string) Resource {
	t.Helper()
	return template.Resources[template.ID(t, kind, prefix)]
}

// Text returns the text of an expression: other resources and parameters by their
// names, and conditions as if all of them held, or none.
func Text(expression any, holds bool) (text string) {
	object, ok := expression.(map[string]any)
	if !ok {
		return fmt.Sprint(expression)
	}
	for function, argument := range object {
		list, _ := argument.([]any)
		switch {
		case function == "Fn::If" && holds:
			return Text(list[1], holds)
		case function == "Fn::If":
			return Text(list[2], holds)
		case function == "Fn::GetAtt":
			return fmt.Sprint(list[0], ".", list[1])
		case function == "Fn::Join":
			for _, part := range list[1].([]any) {
				text += Text(part, holds)
			}
		default:
			text = fmt.Sprint(argument)
		}
	}
	return text
}
