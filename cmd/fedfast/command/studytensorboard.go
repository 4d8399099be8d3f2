package command

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/tensorboard"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

const (
	formatTensorBoard = "tensorboard"
	tensorBoardFolder = "tensorboard"
)

// tensorboard writes the curves of a study's trials as TensorBoard's runs.
func (o *exportOptions) tensorboard(ctx context.Context, a *app, dir string) error {
	v, about, err := look(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }() // it was read only
	out, err := o.folder(dir)
	if err != nil {
		return err
	}
	var files []string
	for i := range about.Trials {
		t := &about.Trials[i]
		rounds, err := v.Curve(ctx, t, 0, about.Config.Score.Discount)
		if err != nil {
			return err
		}
		folder := filepath.Join(out, tensorBoardFolder, tensorboard.Folder(t))
		if err := wholefile.Folder(folder); err != nil {
			return err
		}
		path := filepath.Join(folder, tensorboard.File(t))
		if err := wholefile.Stream(path, 0o644, func(w io.Writer) error {
			b := bufio.NewWriter(w)
			return errors.Join(tensorboard.Write(b, t, rounds), b.Flush())
		}); err != nil {
			return err
		}
		files = append(files, path)
	}
	return a.printFiles(files)
}
