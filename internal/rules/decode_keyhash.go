package rules

import (
	"fmt"
	"regexp"
)

var checkPattern = regexp.MustCompile(`^[0-9a-f]{8}$`)

func (d *decoder) keyHashFields(h *keyHash) []field {
	return []field{
		{name: "env", doc: "The environment variable that holds the secret, so that no rules document does.",
			form: textLike(envName, "KEY_SECRET"), decode: func(v value) { h.env = d.envName(v) },
			missing: "write the environment variable that holds the secret, such as env: KEY_SECRET"},
		{name: "check", doc: "The first 8 digits of the secret's SHA-256: a process with another secret refuses the rules.",
			form: textLike(checkPattern, "1a2b3c4d"), decode: func(v value) { h.check = d.secretCheck(v) },
			missing: `write the first 8 digits that printf %s "$KEY_SECRET" | sha256sum prints, in quotes, ` +
				"so that no process counts under another secret"},
	}
}

func (d *decoder) keyHash(v value) *keyHash {
	h := &keyHash{}
	if d.object(v, d.keyHashFields(h)) {
		h.locked = fmt.Errorf("hash_secret: %w", noSecret(h.env))
	}
	return h
}

func (d *decoder) secretCheck(v value) string {
	check, ok := d.text(v)
	if ok && !checkPattern.MatchString(check) {
		d.fail(v, `%q is no check: write the first 8 digits that printf %%s "$KEY_SECRET" | sha256sum prints`, check)
	}
	return check
}

// hashed decodes whether keys are hashed, and returns by what; nil for not at all.
func (d *decoder) hashed(v value) *keyHash {
	if !d.boolean(v) {
		return nil
	}
	if d.hash == nil {
		d.fail(v, `nothing says by which secret: write hash_secret: {env: KEY_SECRET, check: "1a2b3c4d"} at the top of the document`)
	}
	return d.hash
}
