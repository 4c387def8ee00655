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
	"github.com/slidegate/slidegate/internal/dynamotest"
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
		names := ""
		for _, one := range c.Subjects {
			names += fmt.Sprintf("/%s of %d", one.Name, c.Slots)
		}
		if alike := c.Group + names; c.X > 1000 || seen[alike] {
			continue // the same subjects, under another load
		} else {
			seen[alike] = true
		}
		for _, one := range c.Subjects {
			t.Run(c.ID+"/"+one.Name, func(t *testing.T) { decideOnce(t, &one, max(c.Slots, 1)) })
		}
	}
	for _, id := range headline {
		if !seen[id] {
			t.Errorf("there is no case %s", id)
		}
	}
}

func decideOnce(t *testing.T, s *measure.Subject, slots int) {
	t.Helper()
	ctx := context.Background()
	l, err := s.Open(ctx, measure.Limit{Capacity: 1000, Window: time.Minute, Slots: slots})
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

// TestExactGroups: the groups have all limiters, and no bare operation.
func TestExactGroups(t *testing.T) {
	for _, g := range Exact(servers(t)) {
		if len(g.Subjects) == 0 || slices.ContainsFunc(g.Subjects, func(s measure.Subject) bool { return s.Name == subject.Bare }) {
			t.Errorf("%s has the wrong subjects", g.Store)
		}
	}
}
