// Command start measures how long the Lambda authorizer takes to start with
// rules documents of several sizes: it runs the Lambda's own binary before a
// DynamoDB and a Lambda runtime in this process, until the binary asks for its
// first event.
//
//	go build -tags lambda.norpc -o /tmp/bootstrap ../functions/authorizer
//	go run ./start -authorizer /tmp/bootstrap plain:1000 plain:5000 overrides:10000
//
// A Lambda with 1,769 MB has one CPU, and others have their share by memory
// (AWS: "Configure Lambda function memory"). So the time at a memory size is the
// CPU time of the start times 1769/memory. Nothing is added for the network.
// With -cgroup, a directory of a CPU controller that has a quota, the binary
// runs under that quota, and the wall time shows it.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// wholeCPU is the memory in MB at which a Lambda has one CPU.
const wholeCPU = 1769

func main() {
	binary := flag.String("authorizer", "bootstrap", "the Lambda's `binary` for this machine")
	memory := flag.Float64("memory", 256, "the Lambda's memory in `MB`")
	cgroup := flag.String("cgroup", "", "a `directory` of a CPU controller to run in")
	runs := flag.Int("runs", 5, "how many starts of each document; the median counts")
	flag.Parse()
	if err := run(*binary, *memory, *cgroup, *runs, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "start:", err)
		os.Exit(1)
	}
}

func run(binary string, memory float64, cgroup string, runs int, documents []string) error {
	fmt.Println("| document | JSON | CPU | start at", memory, "MB | under the quota | memory |\n|---|---|---|---|---|---|")
	for _, name := range documents {
		kind, count, _ := strings.Cut(name, ":")
		n, err := strconv.Atoi(count)
		if err != nil || shapes[kind] == nil {
			return fmt.Errorf("%s: want KIND:N, such as plain:1000", name)
		}
		item, size, err := publish(shapes[kind](n))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		var all []start
		for range runs {
			s, err := measure(binary, cgroup, item)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, s)
		}
		m := median(all)
		fmt.Printf("| %s | %d KB | %v | %.2f s | %v | %d MB |\n", name, size>>10, m.cpu, m.cpu.Seconds()*wholeCPU/memory, m.wall.Round(time.Millisecond), m.memory>>20)
	}
	return nil
}
