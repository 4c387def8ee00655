package ruletable

// Len returns how many keys the cache holds, once it has dropped what it has to.
func (c *OverrideCache) Len() int {
	c.entries.CleanUp()
	return c.entries.EstimatedSize()
}
