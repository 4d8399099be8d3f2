package own

import "fmt"

// ChannelsFirst returns an error where the shape (n, height, width, channels) of pictures
// looks like (n, channels, height, width), or a note where it may be.
func ChannelsFirst(name string, shape []int) (note string, err error) {
	h, w, c := shape[1], shape[2], shape[3]
	way := fmt.Sprintf("%s.transpose(0, 2, 3, 1)", name)
	switch {
	case c <= 4 && (c != w || h >= w):
		return "", nil
	case h <= 4 && (h > 1 || w < 4*c), w == c && h != w: // one long row is a series
		return "", Refused(fmt.Sprintf("the shape %v looks like channels first", shape), "(n, height, width, channels)", "save "+way)
	default:
		return fmt.Sprintf("array %s is read as pictures of %d x %d pixels with %d channels; save %s if the channels are first", name, h, w, c, way), nil
	}
}

// Pixels returns notes on pictures of bytes, or of floats, from least to most, whose range
// is another than that which networks expect.
func Pixels(name string, bytes bool, least, most float32) []string {
	white := most
	if most > 20 {
		white = max(most, 255)
	}
	switch {
	case least == most:
		return []string{fmt.Sprintf("all values of array %s are %g: there is nothing to learn from", name, most)}
	case bytes && most < 32:
		return []string{fmt.Sprintf("the largest byte of array %s is %.0f, which stands for %.3g of 1; save (%s / %.0f).astype(\"float32\") if that is white", name, most, most/255, name, most)}
	case !bytes && (most > 20 || least >= 0 && most < 0.05):
		return []string{fmt.Sprintf("the floats of array %s, from %g to %g, are taken as they are, where networks expect "+
			"about 0 to 1; save (%s / %g).astype(\"float32\")", name, least, most, name, white)}
	}
	return nil
}
