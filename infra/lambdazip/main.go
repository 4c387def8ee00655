// Command lambdazip builds the Lambdas and packs each into a zip that the provided.al2023 runtime takes.
//
//	lambdazip [-root ..] [-goarch arm64] [-o ../dist] NAME...
//
// Each NAME is a directory of functions/ and becomes NAME.zip. The same source gives the same bytes, so that a
// deployment with nothing new changes nothing.
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
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("name at least one directory of functions/")
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return fmt.Errorf("make the output directory: %w", err)
	}
	for _, name := range flags.Args() {
		if err := pack(*root, name, *goarch, filepath.Join(*out, name+".zip")); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// pack builds functions/NAME and writes path in one piece: a build that fails leaves the last zip alone.
func pack(root, name, goarch, path string) error {
	executable, err := build(root, name, goarch)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := writeZip(&packed, executable); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	if err := os.WriteFile(path+".new", packed.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the zip: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write the zip: %w", err)
	}
	return nil
}

// build links without the symbols, the paths and the stamps of this machine. The tag lambda.norpc leaves out the RPC
// server of the go1.x runtime, which provided.al2023 does not use.
func build(root, name, goarch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "lambdazip")
	if err != nil {
		return nil, fmt.Errorf("make a directory to build in: %w", err)
	}
	defer os.RemoveAll(dir)
	executable := filepath.Join(dir, "bootstrap")
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

// writeZip writes one entry with no time of its own: the executable bootstrap, which is the name the runtime looks for.
func writeZip(w io.Writer, executable []byte) error {
	z := zip.NewWriter(w)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	header.SetMode(0o755)
	entry, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	if _, err := entry.Write(executable); err != nil {
		return err
	}
	return z.Close()
}
