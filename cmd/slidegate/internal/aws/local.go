package aws

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/embedded"
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
// stack is for arm64, unless a local AWS runs the Lambdas on this machine, or the
// command carries no code but that for this machine. Then the note says so.
func (a *Account) architectureOf(given string, old *types.Stack) (name, note string) {
	if name = cmp.Or(given, parameterOf(old, architecture)); name != "" {
		return name, ""
	}
	name = machines[runtime.GOARCH]
	_, err := embedded.Zip("authorizer", "arm64")
	_, lacks := errors.AsType[embedded.Lacks](err)
	switch {
	case name == "" || name == "arm64":
	case a.Local:
		return name, fmt.Sprintf("using architecture %s, because a local AWS runs Lambdas on this machine", name)
	case lacks:
		return name, fmt.Sprintf("using architecture %s, because this build of slidegate carries the Lambdas for it alone", name)
	}
	return "arm64", ""
}
