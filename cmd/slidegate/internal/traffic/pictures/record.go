package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
)

// transcript is the file with the text of the recording.
const transcript = "first-minute.txt"

// typed are the commands of the second terminal. They follow `make run`.
var typed = []string{
	"for i in $(seq 12); do\n" +
		"  curl -so /dev/null -w '%{http_code} ' http://127.0.0.1:8080/\n" +
		"done; echo",
	"curl -si http://127.0.0.1:8080/ | grep -E '^(HTTP|Rate|Retry)'",
	"dist/slidegate replay examples/traffic/apache-access-2015.log.gz \\\n" +
		"  --rules examples/traffic/per-ip-10-per-minute.yaml | head -3",
}

// record runs `make run` in the repository at root, and then the commands. It
// returns them with what they print, as a terminal shows it. An empty line
// follows each command.
func record(root string) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	address := listener.Addr().String()
	listener.Close()
	there, here := strings.NewReplacer("127.0.0.1:8080", address), strings.NewReplacer(address, "127.0.0.1:8080")

	// This program may itself run under make.
	env := append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=0", "NO_COLOR=1")
	// What the first build downloads is no part of the recording.
	build := exec.Command("make", "dist/slidegate")
	build.Dir, build.Env = root, env
	if printed, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make dist/slidegate: %w: %s", err, printed)
	}
	server := exec.Command("make", "--no-print-directory", "run", "LISTEN="+address)
	server.Dir, server.Env = root, env
	pipe, err := server.StdoutPipe()
	if err != nil {
		return "", err
	}
	server.Stderr = server.Stdout
	if err := server.Start(); err != nil {
		return "", err
	}
	defer server.Wait()
	defer server.Process.Signal(syscall.SIGTERM) // make passes it on
	out := "$ make run\n"
	for lines := bufio.NewScanner(pipe); !strings.Contains(out, "listening on"); {
		if !lines.Scan() {
			return "", fmt.Errorf("make run ended: %s", out)
		}
		out += lines.Text() + "\n"
	}
	for _, command := range typed {
		bash := exec.Command("bash", "-c", there.Replace(command))
		bash.Dir, bash.Env = root, env
		printed, err := bash.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%s: %w: %s", command, err, printed)
		}
		out += "\n$ " + strings.ReplaceAll(command, "\n", "\n> ") + "\n" + string(printed)
	}
	return here.Replace(out), nil
}

// times are the parts of a transcript that differ from run to run: how long
// the replay took, and how long a client waits.
var times = regexp.MustCompile(`traffic in \S+|;t=\d+|Retry-After: \d+`)

func sameButTimes(a, b string) bool {
	return times.ReplaceAllString(a, "") == times.ReplaceAllString(b, "")
}
