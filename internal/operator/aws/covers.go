package aws

import (
	"regexp"
	"strings"
)

// Covers reports whether a pattern of IAM covers a text.
func Covers(pattern, text string) bool {
	covered, err := regexp.MatchString("(?i)^"+strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))+"$", text)
	return err == nil && covered
}
