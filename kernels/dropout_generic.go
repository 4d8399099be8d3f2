package kernels

var dropoutGeneric = dropoutTable{apply: dropoutApplyGeneric}

func dropoutApplyGeneric(dst, src []float32, d dropout) {
	var w [4]uint32
	for i, x := range src {
		if i%4 == 0 {
			b := d.block + uint64(i/4)
			w = Philox([4]uint32{uint32(b), uint32(b >> 32), uint32(d.stream), uint32(d.stream >> 32)}, [2]uint32{d.keys[0], d.keys[1]})
		}
		if w[i%4] >= d.threshold {
			dst[i] = x * d.scale
		} else {
			dst[i] = 0
		}
	}
}
