package main

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"github.com/slidegate/slidegate/infra/internal/cdktest"
)

func TestReadSettings(t *testing.T) {
	tests := []struct {
		name         string
		context      map[string]any
		dist         string
		architecture string
		deadline     time.Duration
		removal      awscdk.RemovalPolicy
	}{
		{"defaults", nil, "../dist", "arm64", 0, awscdk.RemovalPolicy_RETAIN},
		{"explicit", map[string]any{"dist": "d", "architecture": "arm64", "deadline": "250ms", "removal": "retain"},
			"d", "arm64", 250 * time.Millisecond, awscdk.RemovalPolicy_RETAIN},
		{"local", map[string]any{"architecture": "x86_64", "deadline": "2s", "removal": "destroy"},
			"../dist", "x86_64", 2 * time.Second, awscdk.RemovalPolicy_DESTROY},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			app, _ := cdktest.NewApp(t, tt.context)
			s, err := readSettings(app.Node())
			if err != nil {
				t.Fatal(err)
			}
			if s.rules != "../examples/rules.yaml" || s.dist != tt.dist || *s.architecture.Name() != tt.architecture || s.deadline != tt.deadline || s.removal != tt.removal {
				t.Errorf("settings are %s %s %v %s, want %s %s %v %s", s.dist, *s.architecture.Name(), s.deadline, s.removal,
					tt.dist, tt.architecture, tt.deadline, tt.removal)
			}
		})
	}
}

func TestReadSettingsRefuses(t *testing.T) {
	tests := []struct{ name, value, want string }{
		{"architecture", "amd64", "context architecture=amd64: unknown architecture: use arm64 or x86_64"},
		{"deadline", "2", "context deadline=2: time: missing unit in duration"},
		{"deadline", "0s", "context deadline=0s: a deadline must be above 0"},
		{"apis", "http", "context apis=http: unknown APIs: use rest or all"},
		{"removal", "DESTROY", "context removal=DESTROY: unknown removal policy: use retain or destroy"},
	}
	for _, tt := range tests {
		t.Run(tt.name+"="+tt.value, func(t *testing.T) {
			app, _ := cdktest.NewApp(t, map[string]any{tt.name: tt.value})
			if _, err := readSettings(app.Node()); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
		})
	}
}
