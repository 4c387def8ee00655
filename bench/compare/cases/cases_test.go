package cases

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/bench/compare/measure"
	"github.com/slidegate/slidegate/bench/compare/subject"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// servers starts what the cases are measured on.
func servers(t *testing.T) *Servers {
	t.Helper()
	dynamotest.Connect(t) // says how to start one, if there is none
	dynamo, err := subject.ConnectDynamo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dynamo.Close)
	path, err := exec.Command("../../../localstack/redis.sh").Output()
	if err != nil {
		t.Fatal(err)
	}
	redis, err := subject.StartRedis(t.Context(), strings.TrimSpace(string(path)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Close)
	return &Servers{Dynamo: dynamo, Redis: redis}
}

// TestEverySubjectDecides has each subject of each case admit one request, and
// those on a server count their calls.
func TestEverySubjectDecides(t *testing.T) {
	s := servers(t)
	seen := map[string]bool{}
	for _, c := range slices.Concat(All(s), Growth(s, 1000)) {
		if seen[c.ID] {
			t.Errorf("two cases are called %s", c.ID)
		}
		seen[c.ID] = true
		for _, one := range c.Subjects {
			// Requests have the subjects of each case; the other groups the same ones
			// under several loads.
			alike := c.Group + "/" + one.Name + "/" + c.Subjects[len(c.Subjects)-1].Name
			if c.Group == Requests {
				alike = c.ID + "/" + one.Name
			}
			if !seen[alike] {
				t.Run(c.ID+"/"+one.Name, func(t *testing.T) { decideOnce(t, &one) })
			}
			seen[alike] = true
		}
	}
	for _, id := range headline {
		if !seen[id] {
			t.Errorf("there is no case %s", id)
		}
	}
	for _, g := range Exact(s) {
		if len(g.Subjects) == 0 || slices.ContainsFunc(g.Subjects, func(s measure.Subject) bool { return s.Name == subject.Bare }) {
			t.Errorf("the fullest windows of %s have the wrong subjects", g.Store)
		}
	}
}

func decideOnce(t *testing.T, s *measure.Subject) {
	t.Helper()
	ctx := context.Background()
	l, err := s.Open(ctx, measure.Limit{Capacity: 1000, Window: time.Minute, Slots: 2})
	if err != nil {
		t.Fatal(err)
	}
	if l.Close != nil {
		defer l.Close()
	}
	key := fmt.Sprintf("smoke:%s:%d", s.Name, time.Now().UnixNano())
	if l.Fill != nil {
		if err := l.Fill(ctx, key, 1); err != nil {
			t.Error(err)
		}
	}
	if allowed, err := l.Decide(ctx, key); err != nil || !allowed {
		t.Errorf("allowed %v, error %v", allowed, err)
	}
	if l.Calls != nil && l.Calls().Calls == 0 {
		t.Error("it counted no call")
	}
}
