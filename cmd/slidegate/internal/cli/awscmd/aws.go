// Package awscmd has the commands of slidegate aws.
package awscmd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/internal/lambda/predeploy"
)

// Command returns slidegate aws.
func Command(c *command.Console) *cobra.Command {
	return command.Group("aws", "Deploy the limiter to an AWS account", deployCommand(c), attachCommand(c), detachCommand(c), doctorCommand(c),
		deleteCommand(c), policyCommand(c))
}

// stackFlags are for commands on one stack.
type stackFlags struct {
	stack string
	yes   bool
}

var stackName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]{0,127}$`)

// add adds --stack, a name of at most so many characters.
func (f *stackFlags) add(cmd *cobra.Command, longest int) {
	f.stack = aws.DefaultStack
	command.Var(cmd, &f.stack, "stack", "the `NAME` of the CloudFormation stack (default \"slidegate\")", func(text string) (string, error) {
		if !stackName.MatchString(text) {
			return "", fmt.Errorf("--stack %s: want a letter, then up to 127 letters, digits and -", text)
		}
		if len(text) > longest {
			return "", fmt.Errorf("--stack %s has %d characters: give at most %d, because AWS shortens longer names of roles and Lambdas, "+
				"and the rights of `slidegate aws policy` would not match them", text, len(text), longest)
		}
		return text, nil
	})
	command.Complete(cmd, "stack", command.NoWords)
	command.Refuse(cmd, func() bool { return f.stack == "" }, "--stack is empty: name the stack, or leave the flag out")
}

func (f *stackFlags) addYes(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
}

// addARN adds a flag for the ARN of a role, or of a policy, which may be empty.
func addARN(cmd *cobra.Command, to **string, name, kind, usage string) {
	cmd.Flags().Func(name, usage, func(text string) error {
		if *to = &text; !regexp.MustCompile(`^arn:aws[a-z-]*:iam::(aws|\d{12}):`+kind+`/[\w+=,.@/-]+$`).MatchString(text) && (text != "" || kind == "role") {
			return command.Usagef("--%s %s: want the ARN of a %s, such as arn:aws:iam::123456789012:%[3]s/deploy", name, text, kind)
		}
		return nil
	})
	command.Complete(cmd, name, command.NoWords)
}

func deployCommand(c *command.Console) *cobra.Command {
	var f stackFlags
	var o aws.Options
	cmd := &cobra.Command{
		Use:   "deploy [--rules FILE]",
		Short: "Create or update the limiter's stack",
		Long: `Deploy puts the limiter into an AWS account: two tables, the Lambda authorizer, and the rules. It needs no CDK: the
command of a release carries the code, and so does one made by "make build" in a clone. Deploy uploads code and
rules to a bucket, and asks CloudFormation to create or update the stack. If that fails, AWS takes all of it back,
and deploy says why. An interrupt ends the command alone: AWS goes on. Before it creates a stack, deploy asks;
without a terminal it needs --yes then.

The bucket is the one of --bucket; or else the stack's; or deploy creates one for the account and region,
private, encrypted and for TLS alone.

Without --rules the rules stay as they are. A file that is not valid is refused before anything changes. Rules
that somebody has published since the last deployment are not overwritten, unless --on-changed-rules says so.`,
		Example: `  slidegate aws deploy --rules rules.yaml
  slidegate aws deploy --stack shop --rules rules.yaml --secret SLIDEGATE_HASH_SECRET=shop/hash --yes --json
  slidegate aws deploy --without alarms,dashboard
  slidegate aws deploy --with decide,settle --secret SLIDEGATE_RECEIPT_SECRET=shop/receipts
  slidegate aws deploy --alarm-topic arn:aws:sns:eu-west-1:123456789012:alarms --max-writes-per-day 5000000
  slidegate aws deploy --code dist/authorizer_arm64.zip --code dist/operations_arm64.zip --template dist/template.json`,
		Args: command.NoArguments,
	}
	f.add(cmd, predeploy.MaxStack)
	cmd.Flags().StringVar(&o.Rules, "rules", "", "a rules `FILE` to publish")
	command.Complete(cmd, "rules", command.FilesOf("yaml", "yml", "json"))
	command.Refuse(cmd, func() bool { return cmd.Flags().Changed("rules") && o.Rules == "" }, "--rules is empty: name a file, or leave the flag out")
	command.Choice(cmd, &o.OnChangedRules, "on-changed-rules", "what to do if rules were published since the last deployment, an `ACTION`: fail, overwrite or keep "+
		"(default: fail)", "fail", "overwrite", "keep")
	command.Refuse(cmd, func() bool { return o.OnChangedRules != "" && o.Rules == "" }, "--on-changed-rules is for --rules FILE, which is missing")
	addSecrets(cmd, &o.Secrets)
	addWatch(cmd, &o)
	addParts(cmd, &o.With, aws.Functions, "with", "add functions that programs invoke, `FUNCTIONS`: a list of decide, for decisions and usage, and settle, "+
		"for settlements and renewals, or none")
	addARN(cmd, &o.Role, "role-arn", "role", "the `ARN` of a role with which CloudFormation changes the stack, now and later, in place of your rights")
	addARN(cmd, &o.PermissionsBoundary, "permissions-boundary", "policy", "the `ARN` of a policy that bounds the rights of the stack's roles; an empty one removes it")
	cmd.Flags().StringVar(&o.Bucket, "bucket", "", "the `BUCKET` for code and rules")
	command.Complete(cmd, "bucket", command.NoWords)
	command.Choice(cmd, &o.Architecture, "architecture", "of the Lambdas, `arm64` or x86_64 (default: the stack's; of a new stack arm64, or the only one that the command carries; on a local AWS this machine's)", "arm64", "x86_64")
	cmd.Flags().StringArrayVar(&o.Code, "code", nil, "a `ZIP` with a Lambda's code, in place of what the command carries; once for each")
	command.Complete(cmd, "code", command.FilesOf("zip"))
	cmd.Flags().StringVar(&o.Template, "template", "", "a CloudFormation template, a `FILE`, in place of the one that the command carries")
	command.Complete(cmd, "template", command.FilesOf("json"))
	cmd.Flags().BoolVar(&o.Downgrade, "downgrade", false, "deploy over a newer version")
	f.addYes(cmd)
	return command.Reporting(c, cmd, func(ctx context.Context, _ []string) (*aws.DeployReport, error) {
		account, err := aws.Connect(ctx)
		if err != nil {
			return nil, err
		}
		o.Stack = f.stack
		return account.Deploy(ctx, o, &listener{Console: c, ctx: ctx, yes: f.yes})
	}, printDeployed)
}

// addSecrets adds --secret. A secret without a name goes.
func addSecrets(cmd *cobra.Command, secrets *map[string]string) {
	*secrets = map[string]string{}
	variables := slices.Sorted(maps.Keys(aws.Secrets))
	words := make([]string, len(variables))
	for i, v := range variables {
		words[i] = v + "="
	}
	cmd.Flags().Func("secret", "a secret of the authorizer, `VARIABLE=NAME`: its name or ARN in Secrets Manager; no NAME removes it", func(text string) error {
		variable, name, ok := strings.Cut(text, "=")
		if !ok || aws.Secrets[variable] == "" {
			return command.Usagef("--secret %s: want VARIABLE=NAME, with a variable of %s", text, strings.Join(variables, ", "))
		}
		(*secrets)[variable] = name
		return nil
	})
	command.Complete(cmd, "secret", command.OneOf(words...))
}

// addWatch adds the flags about metrics, alarms and the dashboard. The stack keeps
// what is not given.
func addWatch(cmd *cobra.Command, o *aws.Options) {
	cmd.Flags().Func("alarm-topic", "the `ARN` of an SNS topic that gets a message when an alarm starts and ends; an empty one removes it", func(text string) error {
		o.AlarmTopic = &text
		return nil
	})
	cmd.Flags().Func("max-writes-per-day", "raise an alarm above `NUMBER` writes to DynamoDB in 24 hours; 0 removes the alarm", func(text string) error {
		writes, err := strconv.Atoi(text)
		if err != nil || writes < 0 {
			return command.Usagef("--max-writes-per-day %s: want a whole number, such as 5000000, or 0 for no alarm", text)
		}
		o.MaxWritesPerDay = &writes
		return nil
	})
	addParts(cmd, &o.Without, aws.Parts, "without", "leave out `PARTS`: a list of metrics, alarms and dashboard, or none; without metrics there is no dashboard either")
	command.Complete(cmd, "alarm-topic", command.NoWords)
	command.Complete(cmd, "max-writes-per-day", command.NoWords)
}

// addParts adds a flag for a list of parts of the stack, or none.
func addParts(cmd *cobra.Command, to *[]string, of map[string]string, name, usage string) {
	parts := slices.Sorted(maps.Keys(of))
	cmd.Flags().Func(name, usage, func(text string) error {
		*to = []string{}
		for part := range strings.SplitSeq(text, ",") {
			if of[part] == "" && text != "none" {
				return command.Usagef("--%s %s: want a list of %s, or none", name, text, strings.Join(parts, ", "))
			}
			*to = append(*to, part)
		}
		return nil
	})
	command.Complete(cmd, name, command.OneOf(append(parts, "none")...))
}

func printDeployed(p *command.Printer, r *aws.DeployReport) {
	if r.Status == aws.Unchanged {
		p.Line("nothing to update: stack %s has all of it", r.Stack)
	} else {
		p.Line("%s stack %s of version %s in region %s", r.Status, r.Stack, r.Version, r.Region)
	}
	rows := make([][]string, len(r.Outputs))
	for i, o := range r.Outputs {
		rows[i] = []string{"", o.Name, o.Value}
	}
	p.Line("")
	p.Table("lll", rows)
	limiter := ""
	if r.Stack != aws.DefaultStack {
		limiter = " --limiter stack://" + r.Stack
	}
	p.Line("")
	if r.Next != "" {
		p.Line("next: %s", r.Next)
	}
	p.Line("next, for an API that exists: slidegate aws attach API-ID --stage NAME%s", limiter)
}

func deleteCommand(c *command.Console) *cobra.Command {
	var f stackFlags
	cmd := &cobra.Command{
		Use:   "delete",
		Short: "Delete the limiter's stack, but not its tables",
		Long: `Delete asks CloudFormation to delete a stack that deploy made. The tables and the log stay, and delete names them.
The bucket stays too.

It refuses, and names the commands to detach them, while its rules table keeps the state of attached APIs. From other
APIs, first remove the authorizer: without its Lambda, they answer every request with 500. On a terminal, delete
asks for the name of the stack. Elsewhere it needs --yes.`,
		Example: `  slidegate aws delete
  slidegate aws delete --stack shop --yes --json`,
		Args: command.NoArguments,
	}
	var role *string
	f.add(cmd, 128)
	addARN(cmd, &role, "role-arn", "role", "the `ARN` of a role with which CloudFormation deletes the stack (default: that of deploy --role-arn)")
	f.addYes(cmd)
	command.Refuse(cmd, func() bool { return !f.yes && !c.Interactive() }, "--yes is missing: there is no terminal to ask on")
	return command.Reporting(c, cmd, func(ctx context.Context, _ []string) (*aws.DeleteReport, error) {
		account, err := aws.Connect(ctx)
		if err != nil {
			return nil, err
		}
		return account.Delete(ctx, f.stack, role, &listener{Console: c, ctx: ctx, yes: f.yes, word: f.stack})
	}, func(p *command.Printer, r *aws.DeleteReport) {
		p.Line("deleted stack %s in region %s", r.Stack, r.Region)
		if len(r.Kept) == 0 {
			return
		}
		p.Line("\nkept, and yours to delete:")
		rows := make([][]string, len(r.Kept))
		for i, k := range r.Kept {
			rows[i] = []string{"", k.Type, k.ID}
		}
		p.Table("lll", rows)
	})
}

func policyCommand(c *command.Console) *cobra.Command {
	var f stackFlags
	var o aws.Options
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Print the rights that these commands need, as an IAM policy",
		Long: `Policy prints an IAM policy for the people who deploy: for the calls of deploy, attach, detach, doctor and delete, and
for those that CloudFormation makes with the same rights. It covers secrets named STACK/...; add others. Somebody with
these rights can make a role with any rights, as an administrator can; --permissions-boundary bounds such roles. With
--role-arn it prints two policies: "service_role" for that role, and "caller" for the people who deploy. Its ARNs are
those of AWS, China or GovCloud, by the region of your AWS variables and files.`,
		Example: `  slidegate aws policy > policy.json
  slidegate aws policy --stack shop --bucket shop-code
  slidegate aws policy --permissions-boundary arn:aws:iam::123456789012:policy/boundary > policy.json
  slidegate aws policy --role-arn arn:aws:iam::123456789012:role/cloudformation | jq .caller > policy.json`,
		Args: command.NoArguments, ValidArgsFunction: command.NoWords,
	}
	f.add(cmd, predeploy.MaxStack)
	cmd.Flags().StringVar(&o.Bucket, "bucket", "", "the `BUCKET` of deploy --bucket")
	addARN(cmd, &o.Role, "role-arn", "role", "the `ARN` of deploy --role-arn")
	addARN(cmd, &o.PermissionsBoundary, "permissions-boundary", "policy", "the `ARN` of deploy --permissions-boundary: the rights make no roles without it")
	command.Complete(cmd, "bucket", command.NoWords)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		region, err := aws.Region(cmd.Context())
		if o.Stack = f.stack; err == nil {
			_, err = io.WriteString(c.Stdout, aws.Policy(region, o))
		}
		return err
	}
	return cmd
}

// listener prints on standard error what AWS does, a line for each resource that
// is finished, and asks before anything changes.
type listener struct {
	*command.Console
	ctx   context.Context
	yes   bool      // the answer to every question
	word  string    // to type for a yes; empty for y
	began time.Time // by AWS's clock
}

// Tell prints a line.
func (l *listener) Tell(format string, args ...any) {
	command.NewPrinter(l.Stderr).Line(format, args...)
}

// Event prints a line for a resource that is finished.
func (l *listener) Event(e aws.Event) {
	if l.began.IsZero() {
		l.began = e.At
	}
	switch {
	case e.Stack && strings.Contains(e.Status, "ROLLBACK_IN_PROGRESS"):
		l.Tell("failed: AWS takes it back")
	case !e.Stack && e.Done():
		l.Tell("%6s  %-7s  %-30s  %s", fmt.Sprintf("%d s", int(e.At.Sub(l.began).Seconds())), outcome(e), e.Type, e.Resource)
	}
}

// outcome says in one word how a resource has finished.
func outcome(e aws.Event) string {
	done, _, _ := strings.Cut(e.Status, "_")
	switch {
	case e.Failed():
		return "failed"
	case strings.HasSuffix(e.Status, "_SKIPPED"):
		return "kept"
	}
	return map[string]string{"CREATE": "created", "UPDATE": "updated", "DELETE": "deleted", "IMPORT": "imported"}[done]
}

// Confirm asks, unless --yes has the answer. It fails if there is no terminal.
func (l *listener) Confirm(question string) error {
	switch {
	case l.yes:
		return nil
	case !l.Interactive():
		return fmt.Errorf("%s There is no terminal to ask on: give --yes", question)
	}
	prompt, yes := " [y/N] ", []string{"y", "Y", "yes"}
	if l.word != "" {
		prompt, yes = "\nType "+l.word+" to go on: ", []string{l.word}
	}
	answer, err := l.Ask(l.ctx, bufio.NewReader(l.Stdin), question+prompt)
	if err == nil && !slices.Contains(yes, answer) {
		err = command.ErrNotConfirmed
	}
	return err
}
