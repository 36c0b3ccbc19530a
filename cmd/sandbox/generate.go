package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sandbox/render"
	"callhouse/internal/sandbox/world"
)

func newGenerate() *cobra.Command {
	var (
		company     worldFlags
		now         instant
		details, v2 bool
		output      string
	)
	c := &cobra.Command{
		Use:   "generate",
		Short: "Write calls as NDJSON, one API object per line, oldest first",
		Args:  noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if now.IsZero() {
				now.Time = defaultNow
			}
			cfg, err := company.world(now.Time)
			if err != nil {
				return cli.Usage("see sandbox generate --help", "%w", err)
			}
			w, err := world.New(cfg)
			if err != nil {
				return cli.Usage("see sandbox generate --help", "%w", err)
			}
			write := (*render.Renderer).Item
			if v2 {
				write = (*render.Renderer).V2
			} else if details {
				write = (*render.Renderer).Detail
			}
			if err := writeTo(output, c.OutOrStdout(), func(out io.Writer) error {
				return generate(c.Context(), w, company.config.Calls, now.Time, write, out)
			}); err != nil {
				return cli.Fail(cli.ExitFailed, err, "the output is incomplete; choose another --output or free some space")
			}
			return nil
		},
	}
	company.add(c)
	c.Flags().BoolVar(&details, "details", false, "write call details with transcripts instead of list items")
	c.Flags().BoolVar(&v2, "v2", false, "write the objects of the deprecated v2 API")
	c.Flags().StringVar(&output, "output", "-", "file to write; - is stdout")
	c.Flags().Var(&now, "now", "time of the data (RFC 3339; default "+defaultNow.Format(time.RFC3339)+")")
	return c
}

// writeTo calls write with a file, or with stdout for "-".
func writeTo(name string, stdout io.Writer, write func(io.Writer) error) error {
	if name == "-" {
		return write(stdout)
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("create output: %w", err)
	}
	err = write(f)
	if e := f.Close(); err == nil && e != nil {
		err = fmt.Errorf("close output: %w", e)
	}
	return err
}

// generate writes the first n calls in their state at now.
func generate(ctx context.Context, w *world.World, n int64, now time.Time,
	write func(*render.Renderer, []byte, *world.View) []byte, to io.Writer,
) error {
	out := bufio.NewWriterSize(to, 1<<20)
	var r render.Renderer
	var line []byte
	for i := range n {
		v, ok := w.View(i, now)
		if !ok {
			continue
		}
		line = append(write(&r, line[:0], v), '\n')
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("write calls: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write calls: %w", err)
	}
	return nil
}
