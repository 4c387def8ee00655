package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// goTool runs the go command at the module's root and returns what it prints.
func goTool(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

var errTimeout = errors.New("the tests did not end in time")

// runTests runs a test binary in its package's directory, as go test does. Of
// the mutants of a batch it selects the one with this number. At the end it
// kills all processes that the binary started. Where the system can, it limits
// the address space to 8 GiB: a mutant may allocate in a loop that never ends.
func runTests(ctx context.Context, dir string, timeout time.Duration, number int, binary string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	shell := []string{"-c", `ulimit -v 8388608 2>/dev/null; exec "$0" "$@"`, binary, "-test.failfast", "-test.short"}
	cmd := exec.CommandContext(ctx, "sh", append(shell, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", numberVariable, number))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		_ = cmd.Cancel() // usually nothing is left to end
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return string(out), err
}
