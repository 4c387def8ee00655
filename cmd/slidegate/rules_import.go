package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/imports/envoy"
	"github.com/slidegate/slidegate/internal/imports/usageplans"
)

type rulesImportFlags struct {
	format, output, overrides string
	sources, keys             []string
	json                      bool
}

func (c *cli) rulesImportCommand() *cobra.Command {
	var f rulesImportFlags
	cmd := &cobra.Command{
		Use:   "import --format envoy|usage-plans FILE...",
		Short: "Make rules of another limiter's configuration",
		Long: `Import prints a rules file that says what another limiter's files say. What cannot be said, or comes out in
another meaning, is listed on standard error: read it, and look at the rules, before you publish them.

Formats:
  envoy        descriptor files of envoyproxy/ratelimit. What a descriptor's key stands for is in the proxy's
               configuration: --map says it, as a source of keys (jwt.sub, header.x-user, path, any)
  usage-plans  what aws apigateway get-usage-plans prints, and by --keys, for each plan, what
               aws apigateway get-usage-plan-keys prints: those become overrides of plan`,
		Example: `  slidegate rules import --format envoy limits.yaml --map user_id=jwt.sub --output rules.yaml
  slidegate rules import --format envoy a.yaml b.yaml --map generic_key:login=path:/v1/login
  slidegate rules import --format usage-plans plans.json --keys pro=pro-keys.json --overrides plans.jsonl --output rules.yaml`,
		Args:              positional(1, -1, "at least one file"),
		ValidArgsFunction: filesOf("yaml", "yml", "json"),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.importRules(cmd, &f, args) },
	}
	cmd.Flags().StringVar(&f.format, "format", "", "the `FORMAT` of the files: envoy or usage-plans (required)")
	cmd.Flags().StringArrayVar(&f.sources, "map", nil, "what a descriptor's key stands for, `KEY=SOURCE`; may be repeated")
	cmd.Flags().StringArrayVar(&f.keys, "keys", nil, "the API keys of a usage plan, `PLAN=FILE`; may be repeated")
	cmd.Flags().StringVar(&f.output, "output", "", "write the rules to a `FILE` (default: standard output)")
	cmd.Flags().StringVar(&f.overrides, "overrides", "", "write the overrides of plan to a `FILE`, for slidegate overrides import plan")
	jsonFlag(cmd, &f.json)
	complete(cmd, "format", oneOf("envoy", "usage-plans"))
	return cmd
}

// importTold is what rules import --json prints.
type importTold struct {
	Document  string         `json:"document"`
	Lost      []lostTold     `json:"lost"`
	Overrides []importedLine `json:"overrides"`
}

type lostTold struct {
	Place string `json:"place"`
	What  string `json:"what"`
	Why   string `json:"why"`
}

// importedLine is an override as overrides import reads it.
type importedLine struct {
	Key      string          `json:"key"`
	Document json.RawMessage `json:"document"`
}

func (c *cli) importRules(cmd *cobra.Command, f *rulesImportFlags, paths []string) error {
	document, err := f.read(cmd, paths)
	if err != nil {
		return err
	}
	for _, l := range document.Lost {
		c.say("lost: %s", plainText(l.String()))
	}
	if n := len(document.Overrides); n > 0 && f.overrides == "" && !f.json {
		return usagef(cmd, "--overrides is missing: a file for what --keys makes, %s of plan", plural(n, "override"))
	}
	if err := c.writeOverrides(f.overrides, document.Overrides); err != nil {
		return err
	}
	if f.json {
		return c.printImport(document, f.output)
	}
	return c.writeFile(f.output, document.YAML)
}

func (f *rulesImportFlags) read(cmd *cobra.Command, paths []string) (*imports.Document, error) {
	switch {
	case f.format == "":
		return nil, usagef(cmd, "--format is missing: envoy or usage-plans")
	case f.format == "envoy" && (len(f.keys) > 0 || f.overrides != ""):
		return nil, usagef(cmd, "--keys and --overrides are for usage plans")
	case f.format == "usage-plans" && (len(paths) > 1 || len(f.sources) > 0):
		return nil, usagef(cmd, "usage plans are one file, and --map is for envoy")
	case f.format != "envoy" && f.format != "usage-plans":
		return nil, usagef(cmd, "--format %s: want envoy or usage-plans", f.format)
	}
	sources, err := envoy.ParseSources(f.sources)
	if err != nil {
		return nil, usagef(cmd, "--map: %w", err)
	}
	keys, err := f.planKeys(cmd)
	if err != nil {
		return nil, err
	}
	files, err := readFiles(paths)
	if err != nil {
		return nil, err
	}
	if f.format == "envoy" {
		return envoy.Import(sources, files...)
	}
	return usageplans.Import(files[0], keys...)
}

func (f *rulesImportFlags) planKeys(cmd *cobra.Command) (keys []usageplans.Keys, err error) {
	for _, pair := range f.keys {
		plan, path, ok := strings.Cut(pair, "=")
		if !ok || plan == "" || path == "" {
			return nil, usagef(cmd, "--keys %s: want PLAN=FILE, the plan by its id or name", pair)
		}
		files, err := readFiles([]string{path})
		if err != nil {
			return nil, err
		}
		keys = append(keys, usageplans.Keys{Plan: plan, File: files[0]})
	}
	return keys, nil
}

// largestImport bounds a file to import, in bytes.
const largestImport = 64 << 20

func readFiles(paths []string) (files []imports.File, err error) {
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(io.LimitReader(file, largestImport+1))
		file.Close()
		if err == nil && len(content) > largestImport {
			err = fmt.Errorf("%s: holds more than %d MB", path, largestImport>>20)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, imports.File{Name: path, Content: content})
	}
	return files, nil
}

func (c *cli) writeOverrides(path string, overrides []imports.Override) error {
	if path == "" {
		return nil
	}
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	for _, o := range overrides {
		if err := e.Encode(importedLine{o.Key, json.RawMessage(o.Document)}); err != nil {
			return err
		}
	}
	return c.writeFile(path, []byte(text.String()))
}

// writeFile writes a file whole or not at all; "" is standard output.
func (c *cli) writeFile(path string, content []byte) error {
	if path == "" {
		path = "-"
	}
	out, err := createOutput(path, c.stdout)
	if err != nil {
		return err
	}
	defer out.abandon()
	if _, err := out.w.Write(content); err != nil {
		return err
	}
	return out.commit()
}

func (c *cli) printImport(document *imports.Document, output string) error {
	told := importTold{Document: string(document.YAML), Lost: []lostTold{}, Overrides: []importedLine{}}
	for _, l := range document.Lost {
		told.Lost = append(told.Lost, lostTold(l))
	}
	for _, o := range document.Overrides {
		told.Overrides = append(told.Overrides, importedLine{o.Key, json.RawMessage(o.Document)})
	}
	if output != "" {
		if err := c.writeFile(output, document.YAML); err != nil {
			return err
		}
	}
	return printJSON(c.stdout, told)
}
