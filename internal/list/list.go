// Package list holds the loops over slices that are the same everywhere.
package list

// Of returns what f makes of each element, nil for none.
func Of[T, E any](all []T, f func(T) E) []E {
	if len(all) == 0 {
		return nil
	}
	return Made(len(all), func(i int) E { return f(all[i]) })
}

// Made returns n elements, each as f makes it.
func Made[E any](n int, f func(i int) E) []E {
	made := make([]E, n)
	for i := range made {
		made[i] = f(i)
	}
	return made
}

// Where returns the elements for which is is true, nil for none.
func Where[T any](all []T, is func(T) bool) (found []T) {
	for _, x := range all {
		if is(x) {
			found = append(found, x)
		}
	}
	return found
}

// Places returns the numbers from 0 to n-1 for which is is true, nil for none.
func Places(n int, is func(i int) bool) (found []int) {
	for i := range n {
		if is(i) {
			found = append(found, i)
		}
	}
	return found
}

// Count returns the number of elements for which is is true.
func Count[T any](all []T, is func(T) bool) (n int) {
	for _, x := range all {
		if is(x) {
			n++
		}
	}
	return n
}

// Sum adds up what f returns for each element.
func Sum[T any](all []T, f func(T) int) (sum int) {
	for _, x := range all {
		sum += f(x)
	}
	return sum
}
