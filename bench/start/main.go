// Command start measures the Lambda authorizer's own binary before a Lambda
// Runtime API in this process.
//
// Without arguments it compares the authorizer with the hello-world function in
// hello, before the DynamoDB at AWS_ENDPOINT_URL: cold starts to the first
// answer, warm events, memory and bytes. It takes less than a minute:
//
//	../localstack/engine.sh dynoxide go run ./start [-json]
//
// With rules documents, such as plain:1000, it measures how long a start with
// each takes until the binary asks for its first event:
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
	"context"
	"encoding/json"
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
	asJSON := flag.Bool("json", false, "print the comparison as JSON")
	root := flag.String("root", "..", "the `directory` of the root module, to build the authorizer of a comparison")
	binary := flag.String("authorizer", "bootstrap", "the Lambda's `binary` for this machine, for documents")
	memory := flag.Float64("memory", 256, "the Lambda's memory in `MB`")
	cgroup := flag.String("cgroup", "", "a `directory` of a CPU controller to run in")
	runs := flag.Int("runs", 5, "how many starts of each document; the median counts")
	flag.Parse()
	var err error
	if flag.NArg() == 0 {
		err = compare(*root, *asJSON)
	} else {
		err = documents(*binary, *memory, *cgroup, *runs, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "start:", err)
		os.Exit(1)
	}
}

// compare prints how the authorizer compares with the hello-world function.
func compare(root string, asJSON bool) error {
	rows, err := beside(context.Background(), root)
	if err != nil {
		return err
	}
	if asJSON {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		return out.Encode(rows)
	}
	fmt.Println("| Lambda | unit | hello | authorizer | ratio | target |\n|---|---|---|---|---|---|")
	for _, r := range rows {
		target := ""
		if r.Target > 0 {
			target = fmt.Sprintf("%.2f", r.Target)
		}
		fmt.Printf("| %s | %s | %.4g | %.4g | %.2f | %s |\n", r.Case, r.Unit, r.Bare, r.Slidegate, r.Ratio, target)
	}
	return nil
}

// documents prints a row for the start with each document.
func documents(binary string, memory float64, cgroup string, runs int, names []string) error {
	fmt.Println("| document | JSON | CPU | start at", memory, "MB | under the quota | memory |\n|---|---|---|---|---|---|")
	for _, name := range names {
		kind, count, _ := strings.Cut(name, ":")
		n, err := strconv.Atoi(count)
		if err != nil || shapes[kind] == nil {
			return fmt.Errorf("%s: want KIND:N, such as plain:1000", name)
		}
		item, size, err := publish(shapes[kind](n))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		m, err := repeatedly(runs, binary, cgroup, item)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Printf("| %s | %d KB | %v | %.2f s | %v | %d MB |\n", name, size>>10, m.cpu.Round(time.Millisecond), m.cpu.Seconds()*wholeCPU/memory, m.wall.Round(time.Millisecond), m.memory>>20)
	}
	return nil
}

// repeatedly returns the median of several starts.
func repeatedly(runs int, binary, cgroup string, item []byte) (start, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var all []start
	for range runs {
		s, err := measure(ctx, binary, cgroup, item)
		if err != nil {
			return s, err
		}
		all = append(all, s)
	}
	return median(all), nil
}
