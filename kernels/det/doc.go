// Package det holds the arithmetic of everything that decides a result and is not a
// loop over float32 slices: elementary functions, the mixing of keys, and the steps
// from random bits to random numbers. It is float64 in plain Go with every rounding
// written out, so that each CPU gives the same bits. (Package math's Exp and Log
// are assembly on some processors, and a compiler may fuse x*y + z.)
//
// Exp and Log are within 1 unit in the last place of the exact result, Log10 and
// Pow10 within 2, Pow10 beyond 10**22 and below 10**-22 within 3.
//
// A generator keeps its own words (Philox in kernels, PCG elsewhere) and makes
// numbers of them with Unit, Below and Polar.
package det
