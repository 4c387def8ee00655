package awsconfig_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/dynamo/awsconfig"
)

// configure leaves a file as the only configuration of AWS.
func configure(t *testing.T, file string) {
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": file, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "",
	} {
		t.Setenv(name, value)
	}
}

func TestConnectNeedsRegionAndCredentials(t *testing.T) {
	configure(t, "/nonexistent")
	if _, err := awsconfig.Connect(context.Background(), time.Now); !errors.Is(err, dynamo.ErrNoRegion) {
		t.Errorf("error %v, want ErrNoRegion", err)
	}
	t.Setenv("AWS_REGION", "us-east-1")
	if _, err := awsconfig.Connect(context.Background(), time.Now); !errors.Is(err, dynamo.ErrNoCredentials) {
		t.Errorf("error %v, want ErrNoCredentials", err)
	}
}

// TestSlowCredentials signs in with a program that takes too long. The error is
// not ErrNoCredentials.
func TestSlowCredentials(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("[default]\nregion = us-east-1\ncredential_process = sleep 0.5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	configure(t, config)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := awsconfig.Connect(ctx, time.Now); !errors.Is(err, dynamo.ErrCredentialsTimeout) {
		t.Errorf("error %v, want ErrCredentialsTimeout", err)
	}
}

// TestNoSuchProfile uses a profile that no file defines.
func TestNoSuchProfile(t *testing.T) {
	configure(t, os.DevNull)
	t.Setenv("AWS_PROFILE", "unknown")
	var missing config.SharedConfigProfileNotExistError
	if _, err := awsconfig.Connect(context.Background(), time.Now); !errors.As(err, &missing) || !strings.HasPrefix(err.Error(), "AWS configuration: ") {
		t.Errorf("error %v", err)
	}
}
