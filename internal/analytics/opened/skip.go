package opened

import (
	"context"
	"errors"
	"slices"

	"callhouse/internal/analytics/human"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Skipped is a part of a snapshot that answers leave out because one of its files is damaged.
type Skipped struct {
	Name  string // a day or month, or a table
	Calls int64  // of the period, as the manifest counts them
}

func (s Skipped) String() string {
	if s.Calls == 0 {
		return s.Name
	}
	return s.Name + " (" + human.Calls(s.Calls) + ")"
}

// Skipped returns the parts that every answer leaves out: see Options.SkipDamaged.
func (db *DB) Skipped() []Skipped { return db.skipped }

// intact returns a snapshot without the periods and resources that have a damaged file, and lists
// those.
func intact(ctx context.Context, s *layout.Snapshot, p Prover) (*layout.Snapshot, []Skipped, error) {
	var out []Skipped
	gone := map[string]bool{} // paths
	for _, part := range partsOf(s.Manifest) {
		err := p.Prove(ctx, s, part.files)
		if err == nil {
			continue
		}
		if damage := new(layout.DamageError); !errors.As(err, &damage) {
			return nil, nil, err
		}
		out = append(out, part.Skipped)
		for _, f := range part.files {
			gone[f.Path] = true
		}
	}
	if len(gone) == 0 {
		return s, nil, nil
	}
	m := *s.Manifest
	m.Files = slices.DeleteFunc(slices.Clone(m.Files), func(f layout.File) bool { return gone[f.Path] })
	return &layout.Snapshot{Dir: s.Dir, Manifest: &m}, out, nil
}

// part is a set of files that are left out together.
type part struct {
	Skipped
	files []*layout.File
}

// partsOf groups the files of a manifest into parts.
func partsOf(m *layout.Manifest) []*part {
	var out []*part
	at := map[string]*part{}
	for i := range m.Files {
		f := &m.Files[i]
		p := at[f.Part()]
		if p == nil {
			p = &part{Skipped: Skipped{Name: f.Part()}}
			at[f.Part()] = p
			out = append(out, p)
		}
		p.files = append(p.files, f)
		if f.Table == schema.Calls.Name {
			p.Calls = f.Rows
		}
	}
	return out
}

// SkippedText lists the skipped parts.
func SkippedText(skipped []Skipped) string {
	text := "skipped as damaged: "
	for i, s := range skipped {
		if i > 0 {
			text += ", "
		}
		text += s.String()
	}
	return text
}
