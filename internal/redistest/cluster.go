package redistest

import (
	"context"
	"strings"
	"testing"
	"time"
)

const hashSlots = 16384

// StartCluster starts a Redis Cluster of one server, and waits until it serves
// every hash slot.
func StartCluster(t testing.TB) *Server {
	t.Helper()
	s := Start(t, "cluster-enabled yes")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.Client.ClusterAddSlotsRange(ctx, 0, hashSlots-1).Err(); err != nil {
		t.Fatal(err)
	}
	for {
		info, err := s.Client.ClusterInfo(ctx).Result()
		if err != nil {
			t.Fatalf("the cluster does not come up: %v", err)
		}
		if strings.Contains(info, "cluster_state:ok") {
			return s
		}
		time.Sleep(10 * time.Millisecond)
	}
}
