//go:build (!amd64 && !arm64) || purego

package kernels

func actAt(Level) actTable         { return actGeneric }
func vectorAt(Level) vectorTable   { return vectorGeneric }
func reduceAt(Level) reduceTable   { return reduceGeneric }
func optimAt(Level) optimTable     { return optimGeneric }
func softmaxAt(Level) softmaxTable { return softmaxGeneric }
func lstmAt(Level) lstmTable       { return lstmGeneric }
func poolAt(Level) poolTable       { return poolGeneric }
func dropoutAt(Level) dropoutTable { return dropoutGeneric }
func lrnAt(Level) lrnTable         { return lrnGeneric }
