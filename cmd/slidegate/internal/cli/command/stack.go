package command

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
)

// stackScheme begins the address of a CloudFormation stack, stack://NAME, or of
// one limiter of several in it, stack://NAME/ID.
const stackScheme = "stack"

// stack is a limiter of a CloudFormation stack.
type stack struct {
	name, id string
	from     string // the flag or the variable that names it
}

var stackAddress = regexp.MustCompile(`^stack://([a-zA-Z][a-zA-Z0-9-]{0,127})(?:/([a-zA-Z0-9]+))?$`)

// parseStack checks the address of a stack. from is the flag or the variable that
// has it.
func parseStack(from, text string) (*stack, error) {
	match := stackAddress.FindStringSubmatch(text)
	if match == nil {
		return nil, fmt.Errorf("%s %s: want stack://NAME, or stack://NAME/ID for one limiter of several: letters and digits, and in NAME also -", from, text)
	}
	return &stack{match[1], match[2], from}, nil
}

// ParseStack reads a stack, NAME, or one limiter of several in it, NAME/ID. from
// is the flag that has it.
func ParseStack(from, text string) (name, id string, err error) {
	s, err := parseStack(from, stackScheme+"://"+strings.TrimPrefix(text, stackScheme+"://"))
	if err != nil {
		return "", "", fmt.Errorf("%s %s: want NAME, or NAME/ID for one limiter of several: letters and digits, and in NAME also -", from, text)
	}
	return s.name, s.id, nil
}

// findTables adds a step before the command, which asks CloudFormation for the
// tables of stacks. It asks once for a stack that is both --rules and --store.
func (f *Locations) findTables(cmd *cobra.Command) {
	then(cmd, func(ctx context.Context) error {
		rules, store := f.rulesStack, f.storeStack
		f.rulesStack, f.storeStack = nil, nil
		var found aws.Limiter
		var err error
		if rules != nil {
			if found, err = rules.limiter(ctx); err != nil {
				return err
			}
			f.RulesTable = found.RulesTable
		}
		if store == nil {
			return nil
		}
		if rules == nil || store.name != rules.name || store.id != rules.id {
			found, err = store.limiter(ctx)
		}
		f.CountersTable = found.CountersTable
		return err
	})
}

func (s *stack) limiter(ctx context.Context) (aws.Limiter, error) {
	account, err := aws.Connect(ctx)
	if err != nil {
		return aws.Limiter{}, fmt.Errorf("%s: %w", s.from, err)
	}
	found, err := account.Limiter(ctx, s.name, s.id)
	if err != nil {
		return found, fmt.Errorf("%s: %w", s.from, err)
	}
	return found, nil
}
