// Command lambdazip builds the Lambdas and packs each into a zip for the
// provided.al2023 runtime.
//
//	lambdazip [-root ..] [-goarch arm64] [-o ../dist] [-rules FILE] NAME...
//
// Each NAME is a directory of functions/ and becomes NAME_GOARCH.zip, such as
// authorizer_arm64.zip. The same source and the same Go give the same bytes, so
// that deploying it again changes nothing. -rules puts a copy of a rules file
// into each zip, as JSON: the authorizer starts with it if it cannot read the
// rules table.
package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// Entries of a zip.
const (
	bootstrapEntry = "bootstrap"  // the executable that the runtime starts
	rulesEntry     = "rules.json" // the rules that the authorizer reads
)

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "lambdazip:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("lambdazip", flag.ContinueOnError)
	root := flags.String("root", "..", "the `directory` that holds functions/")
	goarch := flags.String("goarch", "arm64", "the Lambdas' `architecture`: arm64 or amd64")
	out := flags.String("o", "../dist", "the `directory` to write to")
	copied := flags.String("rules", "", "a rules `file` to put into each zip, as JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("name at least one directory of functions/")
	}
	document, err := readRules(*copied)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return fmt.Errorf("make the output directory: %w", err)
	}
	for _, name := range flags.Args() {
		if err := pack(*root, name, *goarch, document, filepath.Join(*out, name+"_"+*goarch+".zip")); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// readRules returns the JSON of a rules file, which must be valid; nil for no
// file.
func readRules(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	set, err := rulefile.Parse(path, text)
	if err != nil {
		return nil, err
	}
	return ruledoc.Marshal(set.Document())
}

// pack builds functions/NAME and writes path atomically: a build that fails
// leaves the last zip as it was.
func pack(root, name, goarch string, document []byte, path string) error {
	executable, err := build(root, name, goarch)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := writeZip(&packed, executable, document); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	err = os.WriteFile(path+".new", packed.Bytes(), 0o644)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("write the zip: %w", err)
	}
	return nil
}

// build links without symbols, and without paths and stamps of this machine.
// The tag lambda.norpc leaves out the RPC server of the go1.x runtime, which
// provided.al2023 does not use.
func build(root, name, goarch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "lambdazip")
	if err != nil {
		return nil, fmt.Errorf("make a directory to build in: %w", err)
	}
	defer os.RemoveAll(dir)
	executable := filepath.Join(dir, bootstrapEntry)
	cmd := exec.Command("go", "build", "-o", executable, "-trimpath", "-buildvcs=false", "-tags=lambda.norpc", "-ldflags=-s -w",
		"./functions/"+name)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+goarch)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	return os.ReadFile(executable)
}

// writeZip writes the executable and, unless they are nil, the rules. The
// entries have no times.
func writeZip(w io.Writer, executable, document []byte) error {
	z := zip.NewWriter(w)
	write := func(name string, mode os.FileMode, data []byte) error {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate}
		header.SetMode(mode)
		entry, err := z.CreateHeader(header)
		if err == nil {
			_, err = entry.Write(data)
		}
		return err
	}
	err := write(bootstrapEntry, 0o755, executable)
	if err == nil && document != nil {
		err = write(rulesEntry, 0o644, document)
	}
	return errors.Join(err, z.Close())
}
