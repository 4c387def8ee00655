// Package copied copies what must not be copied. A test runs go vet on it.
package copied

import "github.com/slidegate/slidegate"

func limiter(l *slidegate.Limiter) slidegate.Limiter { return *l }

func reservation(r *slidegate.Reservation) slidegate.Reservation { return *r }

func transport(t *slidegate.Transport) slidegate.Transport { return *t }
