package dose

import "testing"

func TestClamp(t *testing.T) {
	for n, want := range map[int]int{3: 3, 9: 9, 10: 10, 11: 10, 30: 10} {
		if got := Clamp(n); got != want {
			t.Errorf("Clamp(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	if got := Count(3); got != 3 {
		t.Errorf("Count(3) = %d", got)
	}
}

func TestSmallest(t *testing.T) {
	if got := Smallest(); got != 4 {
		t.Errorf("Smallest() = %d", got)
	}
}
