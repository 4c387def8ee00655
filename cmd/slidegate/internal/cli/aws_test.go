package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The policy is for the partition of the region that the other commands use. It
// needs no credentials.
func TestPolicy(t *testing.T) {
	signedOut(t)
	wantFailure(t, "aws policy", "no AWS region; set AWS_REGION")

	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("[profile beijing]\nregion = cn-north-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", config)
	t.Setenv("AWS_PROFILE", "beijing")
	if r := slidegate(t.Context(), "", "aws policy"); r.code != 0 || !strings.Contains(r.stdout, `"arn:aws-cn:s3:::slidegate-*"`) {
		t.Errorf("%+v", r)
	}
	t.Setenv("AWS_PROFILE", "")
	t.Setenv("AWS_DEFAULT_REGION", "us-east-1")
	transcript(t, "aws-policy", "", scrubElapsed)
	transcript(t, "aws-policy-role", "", scrubElapsed)
}
