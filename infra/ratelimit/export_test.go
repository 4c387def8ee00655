package ratelimit

// SetZip replaces the module's zips, which a clone does not have.
func SetZip(f func(name, goarch string) ([]byte, error)) { zip = f }
