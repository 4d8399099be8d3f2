package kernels

func gemmAt(Level) gemmTable { return gemmGeneric }
