package format

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"callhouse/internal/analytics/value"
	"callhouse/internal/words"
)

// WriteCard writes the non-null values of the first row of src as lines of name and value. On a
// narrow terminal a value is wrapped.
func WriteCard(ctx context.Context, w io.Writer, src Source, o Options) error {
	if o.Location == nil {
		o.Location = time.UTC
	}
	row, err := src.Values(ctx)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	columns := src.Columns()
	names := 0
	for i, c := range columns {
		if row[i].Kind != value.Null {
			names = max(names, widthOf(cardName(heading(c))))
		}
	}
	buf := bufio.NewWriter(w)
	for i, c := range columns {
		if row[i].Kind == value.Null {
			continue
		}
		name := cardName(heading(c))
		name += strings.Repeat(" ", names-widthOf(name)+gap)
		text := value.Cell(row[i], c, o.Location)
		lines := []string{text}
		if o.Width > 0 {
			lines = wrap(text, max(o.Width-widthOf(name), minRecord))
		}
		for _, line := range lines {
			writeLine(buf, name+line)
			name = strings.Repeat(" ", names+gap)
		}
	}
	return buf.Flush()
}

func cardName(s string) string { return words.Line(strings.ReplaceAll(s, "_", " ")) }
