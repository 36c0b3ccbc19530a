package analytics

import (
	"errors"
	"slices"
	"strings"

	"callhouse/internal/analytics/rights"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// Denied says whether an error is that the reader may not see what was asked for.
func Denied(err error) bool {
	var denied *rights.DeniedError
	return errors.As(err, &denied)
}

// May returns an error, which is Denied, if a report or its groups and conditions are made
// of a table that the reader may not see. It would tell nothing that is not there, but
// nothing is what it might seem to find.
func (w *Warehouse) May(f *sqlfiles.File, p Params) error {
	if w.Rights().None() {
		return nil
	}
	for _, table := range readBy(f) {
		if err := w.Rights().May(table); err != nil {
			return err
		}
	}
	keys, err := asked(p)
	if err != nil {
		return err
	}
	for _, d := range keys {
		if d.of != nil {
			if err := w.Rights().May(d.of.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// readBy returns the views that a report reads, but runs: what reports tell of these is
// beside their answer, and left out where they are closed.
func readBy(f *sqlfiles.File) (out []string) {
	for _, name := range f.Reads {
		other, isReport := sqlfiles.Report(name)
		_, isView := sqlfiles.View(name)
		of, isSelected := strings.CutPrefix(name, "selected_")
		switch {
		case name == schema.Runs.Name:
		case isView:
			out = append(out, name)
		case isReport:
			out = append(out, readBy(other)...)
		case related()[name] != "":
			out = append(out, schema.Calls.Name, related()[name])
		case besides[name].rows != "", slices.ContainsFunc(resource.All, func(r *resource.Resource) bool { return r.Name == of }):
			out = append(out, schema.Calls.Name, of)
		case name == "selected_speech": // which reads the turns where their facts are not stored
			out = append(out, schema.Calls.Name, schema.Turns.Name)
		case isSelected, name == "selected", name == "surrounding", name == "tallied":
			out = append(out, schema.Calls.Name)
		default:
			panic("nobody knows what " + name + " is made of") // a test asks for every report
		}
	}
	return out
}
