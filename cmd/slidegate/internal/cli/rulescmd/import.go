package rulescmd

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports/envoy"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports/usageplans"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
)

const (
	envoyFormat      = "envoy"
	usagePlansFormat = "usage-plans"
)

type importFlags struct {
	format, output, overrides string
	sources, keys             []string
	json                      *bool
}

func importCommand(c *command.Console) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import --format envoy|usage-plans FILE...",
		Short: "Make rules of another limiter's configuration",
		Long: `Import prints rules that limit as another limiter's files do. On standard error it lists what it does not carry
over, or carries over with another meaning. Read that list and the rules before you publish them.

Formats:
  envoy        descriptor files of envoyproxy/ratelimit. The proxy's configuration says what fills a
               descriptor's key: --map names that source (jwt.sub, header.x-user, path, any)
  usage-plans  the output of aws apigateway get-usage-plans. --keys adds, for each plan, the output of
               aws apigateway get-usage-plan-keys: these become overrides of plan`,
		Example: `  slidegate rules import --format envoy limits.yaml --map user_id=jwt.sub --output rules.yaml
  slidegate rules import --format envoy a.yaml b.yaml --map generic_key:login=path:/v1/login
  slidegate rules import --format usage-plans plans.json --keys pro=pro-keys.json --overrides plans.jsonl --output rules.yaml`,
		Args:              command.Positional(1, -1, "at least one file"),
		ValidArgsFunction: command.FilesOf("yaml", "yml", "json"),
		RunE:              func(_ *cobra.Command, args []string) error { return importRules(c, &f, args) },
	}
	command.Choice(cmd, &f.format, "format", "the `FORMAT` of the files: envoy or usage-plans (required)", envoyFormat, usagePlansFormat)
	command.Refuse(cmd, func() bool { return f.format == "" }, "--format is missing: envoy or usage-plans")
	cmd.Flags().StringArrayVar(&f.sources, "map", nil, "what a descriptor's key stands for, `KEY=SOURCE`; may be repeated")
	cmd.Flags().StringArrayVar(&f.keys, "keys", nil, "the API keys of a usage plan, `PLAN=FILE`; may be repeated")
	cmd.Flags().StringVar(&f.output, "output", "", "write the rules to a `FILE` (default: standard output)")
	cmd.Flags().StringVar(&f.overrides, "overrides", "", "write the overrides that the rules have no room for to a `FILE`, for slidegate overrides import")
	f.json = command.JSON(cmd)
	return cmd
}

func importRules(c *command.Console, f *importFlags, paths []string) error {
	r, err := f.convert(paths)
	if err != nil {
		return err
	}
	for _, l := range r.Lost {
		c.Note("lost: %s", text.Printable(l.String()))
	}
	n := text.Plural(len(r.Overrides), "override")
	switch {
	case len(r.Document.Rules)+len(r.Document.Deny) == 0:
		return errors.New("no rule is left of it: see what is lost")
	case len(r.Overrides) > 0 && f.overrides == "" && !*f.json:
		return command.Usagef("--overrides is missing: a file for the %s of %s, which the rules have no room for", n, r.OverridesOf)
	case len(r.Overrides) > 0 && f.format == envoyFormat:
		c.Note("%s have no room in the rules: publish these, then slidegate overrides import %s %s", n, r.OverridesOf, f.overrides)
	}
	if f.overrides != "" {
		lines, err := r.OverrideLines()
		if err != nil {
			return err
		}
		if err := command.WriteText(f.overrides, c.Stdout, string(lines)); err != nil {
			return err
		}
	}
	if !*f.json || f.output != "" {
		if err := command.WriteText(f.output, c.Stdout, r.Text); err != nil || !*f.json {
			return err
		}
	}
	return command.NewEncoder(c.Stdout, "  ").Encode(r)
}

func (f *importFlags) convert(paths []string) (*imports.Result, error) {
	switch {
	case f.format == envoyFormat && len(f.keys) > 0:
		return nil, command.Usagef("--keys is for usage plans")
	case f.format == usagePlansFormat && (len(paths) > 1 || len(f.sources) > 0):
		return nil, command.Usagef("usage plans are one file, and --map is for envoy")
	case f.format == usagePlansFormat:
		return f.fromUsagePlans(paths)
	}
	return f.fromEnvoy(paths)
}

func (f *importFlags) fromEnvoy(paths []string) (*imports.Result, error) {
	sources, err := envoy.ParseSources(f.sources)
	if err != nil {
		return nil, command.Usagef("--map: %w", err)
	}
	files, err := imports.ReadFiles(paths...)
	if err != nil {
		return nil, err
	}
	return envoy.Import(sources, files...)
}

func (f *importFlags) fromUsagePlans(paths []string) (*imports.Result, error) {
	plans := make([]usageplans.Keys, len(f.keys))
	for i, pair := range f.keys {
		plan, path, ok := strings.Cut(pair, "=")
		if !ok || plan == "" || path == "" {
			return nil, command.Usagef("--keys %s: want PLAN=FILE, the plan by its id or name", pair)
		}
		plans[i].Plan, paths = plan, append(paths, path)
	}
	files, err := imports.ReadFiles(paths...)
	if err != nil {
		return nil, err
	}
	for i := range plans {
		plans[i].File = files[i+1]
	}
	return usageplans.Import(files[0], plans...)
}
