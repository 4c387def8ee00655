// Package copied copies what must not be copied. A test runs go vet on it.
package copied

import (
	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limithttp"
)

func limiter(l *slidegate.Limiter) slidegate.Limiter { return *l }

func reservation(r *slidegate.Reservation) slidegate.Reservation { return *r }

func transport(t *limithttp.Transport) limithttp.Transport { return *t }
