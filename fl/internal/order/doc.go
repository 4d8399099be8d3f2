// Package order has what a simulated clock and choices of clients take their next one from:
// a heap, a bag to draw from, and a ranking. What comes out depends on what is in them
// alone, and not on the order in which it was put in.
package order
