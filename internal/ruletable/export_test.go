package ruletable

// Len returns the number of keys in memory.
func (c *OverrideCache) Len() int { return c.cache.Len() }
