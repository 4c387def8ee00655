package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/test/lambdatest"
)

// start is one start of the binary.
type start struct {
	cpu, wall time.Duration
	memory    int64 // the maximum that was resident, in bytes
}

func median(all []start) start {
	slices.SortFunc(all, func(a, b start) int { return int(a.cpu - b.cpu) })
	return all[len(all)/2]
}

// read reads what a process has used so far.
func (s *start) read(pid int) (err error) {
	process := fmt.Sprintf("/proc/%d/", pid)
	if s.cpu, err = threads(process); err == nil {
		s.memory, err = peak(process + "status")
	}
	return err
}

// measure starts the binary before a table with the item in force, and returns
// what it has used when it asks for its first event.
func measure(ctx context.Context, binary, cgroup string, item []byte) (s start, err error) {
	table := httptest.NewServer(rulesTable(item))
	defer table.Close()
	command := exec.Command(binary)
	if cgroup != "" {
		command = exec.Command("sh", "-c", `echo $$ > "$0" && exec "$1"`, filepath.Join(cgroup, "cgroup.procs"), binary)
	}
	var log bytes.Buffer
	command.Stderr = &log
	command.Env = []string{
		"AWS_ENDPOINT_URL=" + table.URL, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "SLIDEGATE_COUNTERS=counters", "SLIDEGATE_RULES=rules",
	}
	begun := time.Now()
	function, err := lambdatest.Start(command)
	if err != nil {
		return s, err
	}
	defer function.Stop()
	if err := function.Ready(ctx); err != nil {
		return s, fmt.Errorf("%w: %s", err, log.String())
	}
	s.wall = time.Since(begun)
	if strings.Contains(log.String(), "ERROR") {
		return s, fmt.Errorf("the authorizer logs %s", log.String())
	}
	return s, s.read(function.PID())
}

// rulesTable answers as DynamoDB, with the item of the version in force, as
// JSON.
type rulesTable []byte

func (item rulesTable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	answer := item
	if bytes.Contains(body, []byte(`"current"`)) {
		answer = []byte(`{"Item":{"version":{"N":"1"}}}`)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_, _ = w.Write(answer)
}

// threads adds up the CPU time of a process's threads.
func threads(process string) (total time.Duration, err error) {
	all, err := filepath.Glob(process + "task/*/schedstat")
	for _, one := range all {
		d, err := cpuTime(one)
		if err != nil {
			return 0, err
		}
		total += d
	}
	return total, err
}

func cpuTime(path string) (time.Duration, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(data), " ")
	ns, err := strconv.ParseInt(first, 10, 64)
	return time.Duration(ns), err
}

func peak(path string) (int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kb << 10, err
}
