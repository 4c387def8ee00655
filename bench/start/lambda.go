package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
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

// measure starts the binary before a table with the item in force, and returns
// what it has used when it asks for its first event.
func measure(binary, cgroup string, item []byte) (s start, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return s, err
	}
	defer listener.Close()
	ready := make(chan bool, 1)
	go func() { _ = http.Serve(listener, aws{item, ready}) }()
	command := exec.Command(binary)
	if cgroup != "" {
		command = exec.Command("sh", "-c", `echo $$ > "$0" && exec "$1"`, filepath.Join(cgroup, "cgroup.procs"), binary)
	}
	var log bytes.Buffer
	command.Stderr = &log
	address := listener.Addr().String()
	command.Env = []string{
		"AWS_ENDPOINT_URL=http://" + address, "AWS_LAMBDA_RUNTIME_API=" + address, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "SLIDEGATE_COUNTERS=counters", "SLIDEGATE_RULES=rules",
	}
	begun := time.Now()
	if err := command.Start(); err != nil {
		return s, err
	}
	defer func() { _ = command.Process.Kill(); _ = command.Wait() }()
	select {
	case <-ready:
	case <-time.After(5 * time.Minute):
		return s, fmt.Errorf("no start in 5 minutes: %s", log.String())
	}
	s.wall = time.Since(begun)
	if strings.Contains(log.String(), "ERROR") {
		return s, fmt.Errorf("the authorizer logs %s", log.String())
	}
	process := fmt.Sprintf("/proc/%d/", command.Process.Pid)
	if s.cpu, err = threads(process); err == nil {
		s.memory, err = peak(process + "status")
	}
	return s, err
}

// aws answers as DynamoDB and as the Lambda runtime.
type aws struct {
	item  []byte // of the version in force, as JSON of DynamoDB
	ready chan<- bool
}

func (a aws) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, "/runtime/") {
		a.ready <- true
		<-r.Context().Done()
		return
	}
	body, _ := io.ReadAll(r.Body)
	answer := a.item
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
