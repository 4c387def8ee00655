package localstack_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// serving is a Dynoxide that answers HTTP at the given address.
const serving = `exec python3 -m http.server --bind "$2" "$4"`

// TestEngine runs commands against engines of a few lines, installed in place
// of Dynoxide.
func TestEngine(t *testing.T) {
	for _, test := range []struct {
		name, engine, command string
		status                int
		stdout, stderr        string // regular expressions
	}{
		{"the command gets the address and dummy credentials", serving, `echo "$AWS_ENDPOINT_URL $AWS_ACCESS_KEY_ID"`,
			0, `^http://127\.0\.0\.1:\d+ test\n$`, ``},
		{"its status is passed on", serving, `exit 7`, 7, `^$`, ``},
		{"another emulator's addresses are not", serving, `echo "[$AWS_ENDPOINT_URL_DYNAMODB]"`, 0, `^\[\]\n$`, ``},
		{"an engine that ends at once", `echo the disk is full; exit 3`, `echo never`, 1, `^$`,
			`(?s)engine: dynoxide does not answer; the end of its log:\nthe disk is full\n$`},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := fakeEngine(t, test.engine)
			cmd := exec.Command(filepath.Join(root, "localstack/engine.sh"), "dynoxide", "sh", "-c", test.command)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			stdout, err := cmd.Output()
			if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			matches := regexp.MustCompile(test.stdout).Match(stdout) && regexp.MustCompile(test.stderr).MatchString(stderr.String())
			if status := cmd.ProcessState.ExitCode(); status != test.status || !matches {
				t.Errorf("exit status %d, want %d\nstdout: %s\nwant: %s\nstderr: %s\nwant: %s",
					status, test.status, stdout, test.stdout, &stderr, test.stderr)
			}
			nothingLeft(t, root)
		})
	}
}

// TestRequireTools runs require.sh with a PATH that has only the tools of a
// case.
func TestRequireTools(t *testing.T) {
	for _, test := range []struct {
		tool, prints, stderr string // prints is what the tool says of its version; empty for no such tool
	}{
		{"cargo", "", `cargo is missing, .* install Rust 1\.88 or later`},
		{"cargo", "cargo 1.87.0 (99624be96 2025-05-06)", `cargo 1\.87\.0 .* is too old .* install Rust 1\.88`},
		{"cargo", "cargo 1.88.0 (873a06493 2025-05-10)", ``},
		{"cargo", "cargo 2.0.0", ``},
		{"gradle", "", `there is no tool called gradle: name go, .* or cargo`},
	} {
		bin := t.TempDir()
		for _, needed := range []string{"bash", "dirname"} {
			path, err := exec.LookPath(needed)
			if err == nil {
				err = os.Symlink(path, filepath.Join(bin, needed))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if test.prints != "" {
			script(t, filepath.Join(bin, test.tool), "echo '"+test.prints+"' >&2; echo '"+test.prints+"'")
		}
		cmd := exec.Command("./require.sh", test.tool)
		cmd.Env = []string{"PATH=" + bin}
		if out, err := cmd.CombinedOutput(); (err != nil) != (test.stderr != "") || !regexp.MustCompile(test.stderr).Match(out) {
			t.Errorf("%s %q: %s, error %v; want %s", test.tool, test.prints, out, err, test.stderr)
		}
	}
}

// TestEngineIsPinned requires the version that README.md names.
func TestEngineIsPinned(t *testing.T) {
	if v := version(t); !strings.Contains(string(read(t, "README.md")), "`dynoxide-rs` "+v+" ") {
		t.Errorf("README.md names another version of Dynoxide than %s", v)
	}
}

// version returns the version of Dynoxide that engine.sh builds.
func version(t *testing.T) string {
	t.Helper()
	v := regexp.MustCompile(`(?m)^version=(\d+\.\d+\.\d+) `).FindSubmatch(read(t, "engine.sh"))
	if v == nil {
		t.Fatal("engine.sh names no exact version")
	}
	return string(v[1])
}

// fakeEngine copies the scripts to a new root and returns it. In place of
// Dynoxide it has an engine that writes its process id to a file.
func fakeEngine(t *testing.T, engine string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "localstack"), os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(root, ".cache/engines/dynoxide-"+version(t), "bin")
	script(t, filepath.Join(bin, "dynoxide"), `echo $$ >>"$HOME/../pids"`+"\n"+engine)
	script(t, filepath.Join(root, "bin/cargo"), "echo cargo 1.88.0") // nothing is built here
	t.Setenv("PATH", filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1")
	return root
}

// nothingLeft fails the test if a started engine still runs, or if files are
// left.
func nothingLeft(t *testing.T, root string) {
	t.Helper()
	engines := filepath.Join(root, ".cache/engines")
	for _, line := range strings.Fields(string(read(t, filepath.Join(engines, "pids")))) {
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d still runs: %v", pid, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(engines, "run.*")); len(left) > 0 {
		t.Errorf("files left: %v", left)
	}
}

func script(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
