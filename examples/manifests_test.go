package examples_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// manifest is what the tests read of an object of Kubernetes.
type manifest struct {
	Kind string
	Data map[string]string // of a ConfigMap
	Spec struct {
		Replicas, MaxReplicas int
		Template              struct {
			Spec struct {
				TerminationGracePeriodSeconds int
				InitContainers, Containers    []container
			}
		}
	}
}

// container is one of Kubernetes or of ECS.
type container struct {
	Name             string
	Args, Command    []string
	Env, Environment []struct{ Name, Value string }

	StartupProbe, ReadinessProbe, LivenessProbe struct{ HTTPGet struct{ Path string } }
}

// page explains the deployments.
const page = "../docs/start/serve.md"

// TestPage: the page shows lines of the deployments, apart from how far they are
// indented.
func TestPage(t *testing.T) {
	t.Parallel()
	plain := func(text string) string { return regexp.MustCompile(`(?m)^[ -]+`).ReplaceAllString(text, "") }
	var all string
	for _, name := range []string{"kubernetes/shared.yaml", "ecs/task-definition.json", "systemd/slidegate.service"} {
		all += plain(read(t, name))
	}
	blocks := regexp.MustCompile("(?ms)^```(yaml|json|ini)\n(.*?)^```$").FindAllStringSubmatch(read(t, page), -1)
	if len(blocks) != 6 {
		t.Errorf("%s shows %d files or parts of them, want 6", page, len(blocks))
	}
	for _, block := range blocks {
		if session := strings.Contains(block[2], "rules:\n"); !session && !strings.Contains(all, plain(block[2])) {
			t.Errorf("no deployment has these lines of %s:\n%s", page, block[2])
		}
	}
}

// TestManifests: the oldest and the newest Kubernetes take the objects, and refuse
// unknown fields.
func TestManifests(t *testing.T) {
	t.Parallel()
	versions, err := filepath.Glob("../.cache/schemas/v*")
	if err != nil || len(versions) != 2 {
		t.Fatalf("there are no schemas to test with: run localstack/schemas.sh, which puts them into .cache/ (%v)", err)
	}
	for _, version := range versions {
		compiler := jsonschema.NewCompiler()
		compiler.UseLoader(schemas(version))
		for _, name := range []string{"shared", "sidecar"} {
			text := read(t, "kubernetes/"+name+".yaml")
			if err := validate(t, compiler, text); err != nil {
				t.Errorf("%s, %s: %v", version, name, err)
			}
			for _, field := range []string{"readOnlyRootFilesystem", "data", "targetPort"} {
				if validate(t, compiler, strings.Replace(text, field+":", field+"s:", 1)) == nil {
					t.Errorf("%s takes %ss in %s", version, field, name)
				}
			}
		}
	}
}

// schemas loads the schemas of a version, which name each other by addresses, from
// its directory.
type schemas string

func (s schemas) Load(url string) (any, error) {
	file, err := os.Open(filepath.Join(string(s), filepath.Base(url)))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return jsonschema.UnmarshalJSON(file)
}

// validate returns what the schemas find wrong in objects.
func validate(t *testing.T, compiler *jsonschema.Compiler, text string) error {
	t.Helper()
	for _, object := range objects(t, text) {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(object))
		if err != nil {
			t.Fatal(err)
		}
		fields := value.(map[string]any)
		group, number, found := strings.Cut(fields["apiVersion"].(string), "/")
		group, _, _ = strings.Cut(group, ".") // of networking.k8s.io
		kind := strings.ToLower(fields["kind"].(string) + "-" + group)
		if found {
			kind += "-" + number
		}
		schema, err := compiler.Compile("file:///" + kind + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			return err
		}
	}
	return nil
}

// objects returns documents of YAML as JSON.
func objects(t *testing.T, text string) (all [][]byte) {
	t.Helper()
	for _, document := range strings.Split(text, "\n---\n") {
		var value any
		err := yaml.Unmarshal([]byte(document), &value)
		object, jsonErr := json.Marshal(value)
		if err != nil || jsonErr != nil {
			t.Fatal(err, jsonErr)
		}
		all = append(all, object)
	}
	return all
}

// manifests returns the objects of a file by their kind.
func manifests(t *testing.T, name string) map[string]*manifest {
	t.Helper()
	all := map[string]*manifest{}
	for _, object := range objects(t, read(t, name)) {
		m := &manifest{}
		if err := json.Unmarshal(object, m); err != nil {
			t.Fatal(err)
		}
		all[m.Kind] = m
	}
	return all
}
