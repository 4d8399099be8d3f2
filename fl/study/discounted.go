package study

// Discounted is the mean of a series in which an entry of age a weighs
// discount^a, the newest having age 0. The zero value is that of no entries.
type Discounted struct{ sum, weight float64 }

// Add adds an entry and returns the mean. discount, 0 to 1, is the same at every
// call; 0 is the newest entry alone.
func (d *Discounted) Add(x, discount float64) float64 {
	d.sum = float64(d.sum*discount) + x
	d.weight = float64(d.weight*discount) + 1
	return d.sum / d.weight
}
