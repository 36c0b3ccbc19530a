package extractcmd

import (
	"io"

	"callhouse/cmd/internal/status"
	"callhouse/internal/layout"
)

// report writes the run's result.
func (n *night) report(stderr io.Writer) {
	if n.row == nil || n.Quiet {
		return
	}
	r := status.Report{Row: n.row, Crawl: n.rep, ListOnly: n.ListOnly, Failures: n.failures, Objects: n.objects, Erased: n.aged,
		ErasedBefore: n.kept}
	if now, err := layout.Current(n.Warehouse); err == nil {
		r.Snapshot = now.Dir
	}
	r.Write(stderr)
}
