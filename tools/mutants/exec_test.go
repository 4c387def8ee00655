package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script writes a program that stands for a test binary.
func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tests")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRunTests(t *testing.T) {
	dir := t.TempDir()
	out, err := runTests(t.Context(), dir, time.Minute, 0, script(t, `pwd; echo "$@"`), "-model")
	if want := dir + "\n-test.failfast -test.short -model\n"; err != nil || out != want {
		t.Errorf("printed %q, %v; want %q", out, err, want)
	}
	if _, err := runTests(t.Context(), dir, time.Minute, 0, script(t, "exit 1")); err == nil || errors.Is(err, errTimeout) {
		t.Errorf("tests that fail: %v", err)
	}
	if _, err := runTests(t.Context(), dir, 50*time.Millisecond, 0, script(t, "sleep 60")); !errors.Is(err, errTimeout) {
		t.Errorf("tests that do not end: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := runTests(ctx, dir, time.Minute, 0, script(t, "exit 0")); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestRunTestsLeavesNothingBehind says that a server which the tests have
// started goes with them, however they end.
func TestRunTestsLeavesNothingBehind(t *testing.T) {
	for _, c := range []struct {
		name, end string
		timeout   time.Duration
	}{
		{"they pass", "exit 0", time.Minute},
		{"they fail", "exit 1", time.Minute},
		{"they hang", "wait", 3 * time.Second},
	} {
		out, _ := runTests(t.Context(), t.TempDir(), c.timeout, 0, script(t, "sleep 60 >&- 2>&- & echo $!; "+c.end))
		pid, err := strconv.Atoi(strings.TrimSpace(out))
		if err != nil {
			t.Fatalf("%s: printed %q", c.name, out)
		}
		if !gone(pid) {
			t.Errorf("%s: process %d is still there", c.name, pid)
		}
	}
}

// gone waits for a process that was killed to vanish.
func gone(pid int) bool {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && strings.Contains(string(state), ") Z ") {
			return true // killed, and not yet collected by init
		}
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return true
		}
	}
	return false
}

func TestRunTestsBoundsMemory(t *testing.T) {
	want := "8388608\n"
	if runtime.GOOS == "darwin" { // which does not support this bound
		want = "unlimited\n"
	}
	out, err := runTests(t.Context(), t.TempDir(), time.Minute, 0, script(t, "ulimit -v"))
	if err != nil || out != want {
		t.Errorf("the bound is %q, %v", out, err)
	}
}
