package aws

import (
	"regexp"
	"strings"
)

// Covers reports whether a pattern of IAM covers a text.
func Covers[T ~string](pattern T, text string) bool {
	covered, err := regexp.MatchString("(?i)^"+strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(string(pattern)))+"$", text)
	return err == nil && covered
}
