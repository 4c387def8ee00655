package aws

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// isLocal reports whether an endpoint is on this machine, as that of an emulator
// is. It takes nil for AWS itself.
func isLocal(endpoint *string) bool {
	u, err := url.Parse(aws.ToString(endpoint))
	if err != nil {
		return false
	}
	host := u.Hostname()
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "localhost.localstack.cloud" || net.ParseIP(host).IsLoopback()
}

// machines are the architectures of Lambda by those of Go.
var machines = map[string]string{"amd64": "x86_64", "arm64": "arm64"}

// architectureOf returns the architecture that is given, or else the stack's. A new
// stack is for arm64, but on a local AWS for this machine, which runs the Lambdas
// there. Then the note says so.
func (a *Account) architectureOf(given string, old *types.Stack) (name, note string) {
	if name = cmp.Or(given, parameterOf(old, architecture)); name != "" {
		return name, ""
	}
	name = machines[runtime.GOARCH]
	if !a.Local || name == "" {
		return "arm64", ""
	}
	return name, fmt.Sprintf("using architecture %s, because a local AWS runs Lambdas on this machine", name)
}
