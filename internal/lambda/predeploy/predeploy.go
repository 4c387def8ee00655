// Package predeploy reads a rules file before a deployment publishes it: for the
// construct at synthesis, and for the command. The construct is in another
// module, so the exported names are a contract (see tools/api).
package predeploy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// What the template of the construct has, and commands count on.
const (
	// MemoryMB is the memory of each Lambda.
	MemoryMB = 256
	// MaxStack is how many characters the name of a stack of the template may have.
	// AWS shortens the names of its roles and Lambdas to 64, and rights by names
	// that begin with that of the stack must match them.
	MaxStack = 18
)

// File is a rules file that may be published.
type File struct {
	Text     []byte
	Hash     string   // of Text, by which a deployment knows another file
	Warnings []string // what slidegate rules validate warns of, a line each
	Secrets  []string // the environment variables that a limiter reads secrets from
}

// Read reads and checks a file. The error of one that is not valid is what
// slidegate rules validate prints.
func Read(path string) (*File, error) {
	text, err := rulefile.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	set, err := rulefile.Parse(path, text)
	if err != nil {
		return nil, err
	}
	f := &File{Text: text, Hash: Hash(text), Warnings: slices.Concat(set.Warnings, set.Caveats)}
	_ = set.LoadSecrets(func(name string) (string, bool) { // without secrets it fails, which is no matter here
		f.Secrets = append(f.Secrets, name)
		return "", false
	})
	return f, nil
}

// Hash is SHA-256 in hex.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
