package operator

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/operator/session"
)

// TestServeWarnsOfKeys: API keys that the local gateway cannot verify are named
// at its start.
func TestServeWarnsOfKeys(t *testing.T) {
	for authentication, want := range map[string]string{
		"{api_key: {}}":                                       "API keys cannot be verified",
		"{api_key: {from: api_gateway}}":                      "no API keys of API Gateway here",
		"{jwt: [{issuer: 'https://a.example', audience: x}]}": "",
	} {
		path := filepath.Join(t.TempDir(), "rules.yaml")
		if err := os.WriteFile(path, []byte("{rules: [], authentication: "+authentication+"}"), 0o600); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		s, err := OpenGateway(t.Context(), session.Locations{RulesFile: path}, nil, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if got := log.String(); !strings.Contains(got, want) || (want == "") != (got == "") || strings.Count(got, "\n") > 1 {
			t.Errorf("%s: logged %q, want %q once", authentication, got, want)
		}
	}
}
