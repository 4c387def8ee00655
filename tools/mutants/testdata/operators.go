package operators

import (
	"errors"
	"fmt"
	"time"
)

const width = 3 * time.Second

var names = [...]string{0: "sliding", 1: ""}

type pair[T any] struct {
	a, b T `json:"untouched"`
}

func (p *pair[T]) swap(twice bool) (T, bool) {
	p.a, p.b = p.b, p.a
	if twice && p != nil || !twice {
		p.swap(false)
		p.b = p.a
	} else {
		p.a = p.b
	}
	return p.a, !twice
}

func compare(a, b int64, at, until time.Time) (int64, error) {
	switch {
	case a < b:
		return min(a, b), nil
	case at.Before(until):
		return a%b + 1, errors.New("left alone = as it is")
	default:
		defer fmt.Println("a", -a)
	}
	if a == b {
		return 0, fmt.Errorf("left %q alone", "too")
	}
	return both(a, b)
}

func both(a, b int64) (n int64, err error) {
	for i := range b {
		if i >= a {
			break
		}
		n += i << 1
		n--
	}
	for n != 0 {
		n = n & 7
	}
	return n, err
}

func condition(name string) string {
	return "attribute_not_exists(" + name + ") OR " + name + " <= :q"
}
