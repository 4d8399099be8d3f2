// The recorded results are a module of their own, so that who uses fedfast does not
// download them.
module github.com/fedfast/fedfast/bench/results

go 1.26.0
