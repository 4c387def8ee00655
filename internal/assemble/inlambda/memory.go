package inlambda

import (
	"runtime/debug"
	"strconv"
)

const (
	// garbagePercent is GOGC of the functions. The authorizer's live heap is a few
	// MB, and at Go's 100 a tenth of the CPU time of an event went to collecting it.
	garbagePercent = 400
	// memoryShare is the part of the Lambda's memory above which Go collects
	// more often. The rest is for stacks, the binary and the runtime.
	memoryShare = 0.75
)

// CollectLess lets garbage take more of the memory that the Lambda has anyway.
// GOGC and GOMEMLIMIT take precedence where the environment has them. Outside
// of Lambda, it changes nothing.
func CollectLess(getenv func(string) string) {
	mb, err := strconv.Atoi(getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"))
	if err != nil || mb <= 0 {
		return
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(float64(mb) * (1 << 20) * memoryShare))
	}
	if getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
}
