package snapshot

import (
	"errors"
	"slices"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/table"
)

// Sources reads several periods of a snapshot as if they were one, such as the days that become a
// month. A period is opened when its first call may be next, and closed after its last. Days do not
// overlap, so only one is open at a time, except for days that still have calls without a start,
// which come last.
type Sources struct {
	r       *Reader
	Only    []*schema.Table // tables whose rows are read; nil: all tables
	waiting []*layout.File  // of calls, not opened yet, by their lowest start
	open    []*Source
	Current *Source // source of the call that Next returned last
}

// Source is one period with its next call.
type Source struct {
	*table.Period
	call *calls.Call
}

// NewSources reads these periods of a snapshot; only are the tables whose rows are read, nil: all of
// them.
func NewSources(r *Reader, periods []string, only []*schema.Table) *Sources {
	s := &Sources{r: r, Only: only}
	for _, p := range periods {
		if f := r.File(schema.Calls.Name, p); f != nil {
			s.waiting = append(s.waiting, f)
		}
	}
	slices.SortFunc(s.waiting, func(a, b *layout.File) int {
		return table.CompareKey(lowest(a), a.Period, lowest(b), b.Period)
	})
	return s
}

// lowest returns a lower bound of the keys of a file of calls.
func lowest(f *layout.File) schema.Opt[int64] {
	if f.MinStart == nil {
		return schema.Opt[int64]{}
	}
	return schema.Some(*f.MinStart)
}

// Next returns the next call, or nil at the end.
func (s *Sources) Next() (*calls.Call, error) {
	if s.Current != nil {
		if err := s.advance(s.Current); err != nil {
			return nil, err
		}
		s.Current = nil
	}
	for {
		first := s.first()
		if len(s.waiting) > 0 && (first == nil || table.CompareKey(lowest(s.waiting[0]), "", first.call.StartAt(),
			string(first.call.ID())) <= 0) {
			if err := s.openNext(); err != nil {
				return nil, err
			}
			continue
		}
		if first == nil {
			return nil, nil
		}
		s.Current = first
		return first.call, nil
	}
}

// Each visits all calls.
func (s *Sources) Each(visit func(*calls.Call) error) error {
	for {
		call, err := s.Next()
		if err != nil || call == nil {
			return err
		}
		if err := visit(call); err != nil {
			return err
		}
	}
}

// first returns the open source with the lowest call.
func (s *Sources) first() *Source {
	var low *Source
	for _, o := range s.open {
		if low == nil || table.CompareKey(o.call.StartAt(), string(o.call.ID()), low.call.StartAt(), string(low.call.ID())) < 0 {
			low = o
		}
	}
	return low
}

func (s *Sources) openNext() error {
	p, err := s.r.Period(s.waiting[0].Period, s.Only)
	if err != nil {
		return err
	}
	s.waiting = s.waiting[1:]
	o := &Source{Period: p}
	s.open = append(s.open, o)
	return s.advance(o)
}

// advance reads a source's next call; at its end it is closed.
func (s *Sources) advance(o *Source) (err error) {
	if o.call, err = o.Period.Next(); err != nil || o.call != nil {
		return err
	}
	if err := o.Done(); err != nil {
		return err
	}
	s.open = slices.DeleteFunc(s.open, func(other *Source) bool { return other == o })
	return o.Close()
}

// Close closes what is still open.
func (s *Sources) Close() error {
	var errs []error
	for _, o := range s.open {
		errs = append(errs, o.Close())
	}
	return errors.Join(errs...)
}
