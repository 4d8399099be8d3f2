package kernels

import (
	"math"
	"unsafe"
)

var columnsGeneric = columnTable{softmax: softmaxColumnsGeneric, backward: softmaxColumnsBackwardGeneric}

// columnRow returns 16 floats of row i.
func columnRow(x *float32, ld, i int) *[Width]float32 {
	return (*[Width]float32)(unsafe.Add(unsafe.Pointer(x), i*ld))
}

// columnTerms turns a row into e^(x - largest), or 0 in the first masked columns.
func columnTerms(row, largest *[Width]float32, masked int) {
	none := float32(math.Inf(-1))
	for j, x := range row {
		if j < masked {
			x += none
		}
		if x -= largest[j]; x < softmaxLow {
			x = none
		}
		row[j] = x
	}
	acts.exp(row[:], row[:])
}

func softmaxColumnsGeneric(x *float32, ld, rows, masked int, largest, scale *float32) {
	top, factor := (*[Width]float32)(unsafe.Pointer(largest)), (*[Width]float32)(unsafe.Pointer(scale))
	for j := range top {
		top[j], factor[j] = -math.MaxFloat32, 0
	}
	for i := range rows + masked {
		for j, v := range columnRow(x, ld, i) {
			if v > top[j] && j >= i-rows {
				top[j] = v
			}
		}
	}
	for i := range rows + masked {
		row := columnRow(x, ld, i)
		columnTerms(row, top, i-rows)
		for j, e := range row {
			factor[j] += e
		}
	}
	for j, sum := range factor {
		if sum != 0 {
			factor[j] = 1 / sum
		}
	}
	for i := range rows + masked {
		row := columnRow(x, ld, i)
		for j, f := range factor {
			row[j] *= f
		}
	}
}

func softmaxColumnsBackwardGeneric(x, g *float32, ld, ldg, rows, masked int, largest, scale *float32) {
	top, factor := (*[Width]float32)(unsafe.Pointer(largest)), (*[Width]float32)(unsafe.Pointer(scale))
	var mean [Width]float32
	for i := range rows + masked {
		row, slope := columnRow(x, ld, i), columnRow(g, ldg, i)
		columnTerms(row, top, i-rows)
		for j, f := range factor {
			row[j] *= f
			mean[j] += float32(row[j] * slope[j])
		}
	}
	for i := range rows + masked {
		row, slope := columnRow(x, ld, i), columnRow(g, ldg, i)
		for j, m := range mean {
			slope[j] = (slope[j] - m) * row[j]
		}
	}
}
