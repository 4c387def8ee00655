package cli

import (
	"bytes"
	"cmp"
	_ "embed" // the rules
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
)

// initOptions are what a first rules file depends on. Its template reads them.
type initOptions struct {
	Per              string // address, api-key or user
	Limit            string // a rate
	Issuer, Audience string // of the tokens of users
	Shadow           bool   // count only, and deny nothing
}

func initCommand(c *command.Console) *cobra.Command {
	// 100 a minute is for an API that people use: a page that loads twenty things at
	// once stays below it, and a script that never waits does not.
	o := initOptions{Per: "address", Limit: "100/minute"}
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write the first rules",
		Long: `Init writes a rules file with one limit and comments, by default rules.yaml, and shows what to do next. It never
overwrites a file.`,
		Example: `  slidegate init
  slidegate init --limit 20/second --shadow
  slidegate init api.yaml --per user --issuer https://id.example.com --audience api`,
		Args:              command.Positional(0, 1, "one rules file at most"),
		ValidArgsFunction: command.FilesOf("yaml", "yml"),
	}
	command.Choice(cmd, &o.Per, "per", "who has a limit of its own, each `CALLER`: address, api-key or user (default: address)",
		"address", "api-key", "user")
	cmd.Flags().StringVar(&o.Limit, "limit", o.Limit, "the `RATE` of each, such as 20/second or 1000 per 15m")
	cmd.Flags().StringVar(&o.Issuer, "issuer", "", "the `URL` of the issuer of users' tokens; --per user needs it")
	cmd.Flags().StringVar(&o.Audience, "audience", "", "the `AUDIENCE` of users' tokens; --per user needs it")
	cmd.Flags().BoolVar(&o.Shadow, "shadow", false, "count only, and deny nothing")
	command.Refuse(cmd, func() bool { return o.Per == "user" && (o.Issuer == "" || o.Audience == "") },
		"--per user needs --issuer and --audience: which tokens to trust")
	command.Refuse(cmd, func() bool { return o.Per != "user" && o.Issuer+o.Audience != "" }, "--issuer and --audience are for --per user")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		path := append(args, "rules.yaml")[0]
		if err := command.CheckNewFile(path); err != nil {
			return err
		}
		rules, err := o.compose()
		if err != nil {
			return err
		}
		if err := command.WriteNewFile(path, string(rules)); err != nil {
			return err
		}
		return o.showNext(command.NewPrinter(c.Stdout), path)
	}
	return cmd
}

//go:embed init.yaml.tmpl
var initText string

var initTemplate = template.Must(template.New("rules").Parse(initText))

// Key returns what the rules count known callers by, as a rule's key.
func (o initOptions) Key() string {
	return map[string]string{"address": "ip:{ip}", "api-key": "apikey:{apikey}", "user": "user:{jwt.sub}"}[o.Per]
}

// compose returns the file. The error says what is wrong with a flag, in the
// words of `rules validate`; a file that would draw a warning is an error too.
func (o initOptions) compose() ([]byte, error) {
	quoted := o
	quoted.Limit = strconv.Quote(o.Limit) // any text is one value in YAML
	if _, err := quoted.execute(); err != nil {
		return nil, err
	}
	return o.execute() // a limit needs no quotes
}

func (o initOptions) execute() ([]byte, error) {
	var file bytes.Buffer
	if err := initTemplate.Execute(&file, o); err != nil {
		return nil, err
	}
	_, warnings, caveats, err := rulefile.Check("", file.Bytes())
	if err == nil && len(warnings)+len(caveats) > 0 {
		err = append(warnings, caveats...)
	}
	if wrong, ok := errors.AsType[*yamlfile.Error](err); ok {
		flags := map[string]string{".issuer": "--issuer", ".audience": "--audience"}
		if strings.HasPrefix(wrong.Reason, "unknown value") { // what to write in its place is for a file
			wrong.Reason = o.Limit + " is no rate: write one such as 100/minute"
		}
		err = command.Usagef("%s: %s", cmp.Or(flags[filepath.Ext(wrong.Path)], "--limit"), wrong.Reason) // without its place: nobody has seen the file
	}
	return file.Bytes(), err
}

// showNext prints what to do with the new file, a line for each command.
func (o *initOptions) showNext(p *command.Printer, path string) error {
	does := "limits each %s to %s"
	if o.Shadow {
		does = "counts each %s by %s, and denies nothing"
	}
	p.Line("%s "+does+". Its comments say what to change. Next:", text.Printable(path), o.Per, o.Limit)
	p.Line("")
	file := text.ShellWords(path)
	rows := [][]string{
		{"  try it, on http://127.0.0.1:8080", "slidegate serve --rules " + file},
		{"  see what it does to a log", "slidegate replay access.log --rules " + file},
		{"  find the limit that a log needs", "slidegate suggest access.log --key " + o.Key()},
		{"  put it before an API on AWS", "slidegate aws deploy --rules " + file},
	}
	if o.Per == "api-key" {
		rows = append(rows, []string{"  make keys, once it is deployed", "slidegate apikeys create --help"})
	}
	p.Table("ll", rows)
	return p.Err
}
