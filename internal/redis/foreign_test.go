package redis_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/redis"
	"github.com/slidegate/slidegate/internal/redistest"
	"github.com/slidegate/slidegate/internal/storetest"
)

// foreign lists fields that no script writes, of a counter with four limits:
// slots, log, bucket and weighted.
var foreign = map[string][]any{
	"no life":            {"a", "1:1"},
	"an empty life":      {"life", "", "a", "1:1"},
	"another field":      {"life", "x", "z", "1"},
	"a fifth limit":      {"life", "x", "e", "1:1"},
	"an empty limit":     {"life", "x", "a", ""},
	"no slots":           {"life", "x", "a", "none"},
	"half a slot":        {"life", "x", "a", "1:1 2"},
	"no units":           {"life", "x", "a", "1:"},
	"negative units":     {"life", "x", "a", "1:-1"},
	"parts of units":     {"life", "x", "a", "1:1.5"},
	"too many units":     {"life", "x", "a", "1:9007199254740992"},
	"far too many units": {"life", "x", "a", "1:99999999999999999999999999"},
	"hexadecimal":        {"life", "x", "a", "0x10:1"},
	"infinity":           {"life", "x", "a", "1:inf"},
	"a slot too far":     {"life", "x", "a", "9007199254740992:1"},
	"a slot in 2300":     {"life", "x", "a", "10413792000:1"},
	"a stamp at the end": {"life", "x", "b", "9223372035.000000000:1"},
	"no space":           {"life", "x", "a", "1:1-2:2"},
	"a comma":            {"life", "x", "a", "1:1,2:2"},
	"run together":       {"life", "x", "a", "1:12:2"},
	"a space before":     {"life", "x", "a", " 1:1"},
	"a space too many":   {"life", "x", "a", "-2:1-1:1 "},
	"two spaces":         {"life", "x", "a", "1:1  2:1"},
	"a space at the end": {"life", "x", "a", "1:1 "},
	"descending":         {"life", "x", "a", "2:1 1:1"},
	"twice":              {"life", "x", "a", "1:1 1:1"},
	"a moment as a slot": {"life", "x", "a", "1.000000000:1"},
	"a slot as a moment": {"life", "x", "b", "1:1"},
	"a short moment":     {"life", "x", "b", "1.00000000:1"},
	"moments descending": {"life", "x", "b", "1.000000001:1 1.000000000:1"},
	"half a bucket":      {"life", "x", "c", "1"},
	"a bucket of slots":  {"life", "x", "c", "1.000000000:1"},
	"a bucket too far":   {"life", "x", "c", "99999999999999999.000000000"},
	"weighted letters":   {"life", "x", "d", "a:b"},
	"bytes":              {"life", "x", "d", "\x00\xff\r\n"},
	"a bucket in 9999":   {"life", "x", "c", "253370764800.000000000"},
	"a stamp in 9999":    {"life", "x", "b", "253370764800.000000000:1"},
	"a thousand slots":   {"life", "x", "a", manySlots(1002)},
}

// manySlots formats slots with one unit each.
func manySlots(n int) string {
	records := make([]string, n)
	for i := range records {
		records[i] = fmt.Sprintf("%d:1", i)
	}
	return strings.Join(records, " ")
}

// TestForeign checks that every call on a counter which the script did not
// write is an error and changes nothing, and that a reset repairs it.
func TestForeign(t *testing.T) {
	server := redistest.Start(t)
	store := open(t, server)
	limits := []limit.Limit{storetest.Sliding(9, time.Minute, sec), storetest.Exact(9, time.Minute), storetest.Token(9, time.Minute, 9), storetest.Weighted(9, time.Minute)}
	for name, fields := range foreign {
		t.Run(name, func(t *testing.T) {
			c := request(fresh(), limits, 1, 1, 1, 1)
			if err := server.Client.HSet(t.Context(), prefix+c.Key, fields...).Err(); err != nil {
				t.Fatal(err)
			}
			before := stored(t, server, c.Key)
			wantForeign(t, store, c)
			if diff := cmp.Diff(before, stored(t, server, c.Key)); diff != "" {
				t.Error(diff)
			}
			wantMended(t, store, c)
		})
	}
	t.Run("no hash", func(t *testing.T) {
		c := request(fresh(), limits, 1, 1, 1, 1)
		if err := server.Client.Set(t.Context(), prefix+c.Key, "text", 0).Err(); err != nil {
			t.Fatal(err)
		}
		wantForeign(t, store, c)
		wantMended(t, store, c)
	})
}

func wantForeign(t *testing.T, store *redis.Store, c *limit.Charge) {
	t.Helper()
	var v, w limit.Verdict
	for call, err := range map[string]error{
		"Charge":    store.Charge(t.Context(), epoch, c, &v),
		"Peek":      store.Peek(t.Context(), epoch, c, &w),
		"ChargeAll": store.ChargeAll(t.Context(), epoch, []*limit.Charge{request(fresh(), c.Limits, 1, 1, 1, 1), c}, []*limit.Verdict{{}, {}}),
		"Settle":    store.Settle(t.Context(), epoch, c, &limit.Receipt{Generation: "x"}, []int64{1, 0, 0, 0}),
	} {
		if !errors.Is(err, redis.ErrForeign) || !strings.Contains(err.Error(), "slidegate reset RULE KEY") {
			t.Errorf("%s: %v", call, err)
		}
	}
	if v.Allowed || w.Allowed {
		t.Errorf("allowed: %+v, %+v", v.Result, w.Result)
	}
}

func wantMended(t *testing.T, store *redis.Store, c *limit.Charge) {
	t.Helper()
	if err := store.Reset(t.Context(), c.Key); err != nil {
		t.Fatal(err)
	}
	if v := charge(t, store, epoch, c); !v.Allowed || v.Remaining != 8 {
		t.Errorf("after a reset: %+v", v.Result)
	}
}
