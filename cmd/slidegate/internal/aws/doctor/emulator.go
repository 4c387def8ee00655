package doctor

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
)

// emulatorAt names the emulator at an endpoint, such as "MiniStack 1.5.33 at
// 127.0.0.1:4566". It returns "" for AWS itself, which a proxy or a VPC gives an
// endpoint too.
func emulatorAt(ctx context.Context, endpoint *string) string {
	at, err := url.Parse(sdk.ToString(endpoint))
	if err != nil || at.Host == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // a busy emulator takes seconds
	defer cancel()
	// MiniStack has LocalStack's page too, so its own comes first.
	for _, page := range [][2]string{{"MiniStack", "/_ministack/health"}, {"LocalStack", "/_localstack/health"}} {
		if name := nameBy(ctx, at.JoinPath(page[1]), page[0]); name != "" {
			return name + " at " + at.Host
		}
	}
	if aws.IsLocal(endpoint) {
		return "an emulator at " + at.Host
	}
	return ""
}

// nameBy names the emulator that answers a request for the page of one about its
// health. It returns "" if the answer is not that of an emulator. Dynoxide and
// LocalStack since 2026 have a field with their version in every answer.
func nameBy(ctx context.Context, page *url.URL, owner string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page.String(), nil)
	if err != nil {
		return ""
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	for field, name := range map[string]string{"X-Dynoxide-Version": "Dynoxide", "X-Localstack": "LocalStack"} {
		if version := answer.Header.Get(field); version != "" {
			return name + " " + version
		}
	}
	var health struct {
		Services map[string]any
		Version  string
	}
	if json.NewDecoder(answer.Body).Decode(&health) != nil || health.Services == nil {
		return ""
	}
	return owner + " " + health.Version
}
