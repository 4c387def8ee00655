package doctor

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
)

// emulatorAt names the emulator at an endpoint, such as "MiniStack 1.5.33 at
// 127.0.0.1:4566". It returns "" for AWS itself, which a proxy or a VPC gives an
// endpoint too. Dynoxide and LocalStack since 2026 state their version in a field
// of every answer.
func emulatorAt(ctx context.Context, endpoint *string) string {
	at, err := url.Parse(sdk.ToString(endpoint))
	if err != nil || at.Host == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // a busy emulator takes seconds
	defer cancel()
	for _, owner := range []string{"MiniStack", "LocalStack"} { // MiniStack has the other's page too
		at.Path = "/_" + strings.ToLower(owner) + "/health"
		answer, err := http.DefaultClient.Do((&http.Request{Method: http.MethodGet, URL: at}).WithContext(ctx))
		if err != nil {
			break
		}
		var health struct{ Version string }
		_ = json.NewDecoder(answer.Body).Decode(&health) // no version if the answer is another
		answer.Body.Close()
		field := answer.Header.Get
		for _, known := range [][2]string{{"Dynoxide", field("X-Dynoxide-Version")}, {"LocalStack", field("X-Localstack")}, {owner, health.Version}} {
			if known[1] != "" {
				return known[0] + " " + known[1] + " at " + at.Host
			}
		}
	}
	if aws.IsLocal(endpoint) {
		return "an emulator at " + at.Host
	}
	return ""
}
