package sink

import (
	"errors"
	"slices"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// sources reads several periods of a snapshot as if they were one, such as the days that become a
// month. A period is opened when its first call may be next, and closed after its last. Days do not
// overlap, so only one is open at a time, except for days that still have calls without a start,
// which come last.
type sources struct {
	r       *Reader
	waiting []*layout.File // of calls, not opened yet, by their lowest start
	open    []*source
}

// source is one period with its next call.
type source struct {
	*objectReader
	call calls.Call
}

// newSources reads these periods of a snapshot.
func newSources(r *Reader, periods []string) *sources {
	s := &sources{r: r}
	for _, p := range periods {
		if f := r.File(schema.Calls.Name, p); f != nil {
			s.waiting = append(s.waiting, f)
		}
	}
	slices.SortFunc(s.waiting, func(a, b *layout.File) int {
		return compareKey(lowest(a), a.Period, lowest(b), b.Period)
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

// Each visits all calls. A call is valid until visit returns.
func (s *sources) Each(visit func(*calls.Call) error) error {
	for {
		first := s.first()
		switch {
		case len(s.waiting) > 0 && (first == nil ||
			compareKey(lowest(s.waiting[0]), "", first.call.StartAt(), string(first.call.ID())) <= 0):
			p, err := s.r.Period(s.waiting[0].Period, nil)
			if err != nil {
				return err
			}
			s.waiting, first = s.waiting[1:], &source{objectReader: p}
			s.open = append(s.open, first)
		case first == nil:
			return nil
		default:
			if err := visit(&first.call); err != nil {
				return err
			}
		}
		if err := s.advance(first); err != nil {
			return err
		}
	}
}

// first returns the open source with the lowest call.
func (s *sources) first() *source {
	var low *source
	for _, o := range s.open {
		if low == nil || compareKey(o.call.StartAt(), string(o.call.ID()), low.call.StartAt(), string(low.call.ID())) < 0 {
			low = o
		}
	}
	return low
}

// advance reads a source's next call; at its end it is closed.
func (s *sources) advance(o *source) error {
	more, err := o.ReadCall(&o.call)
	if err == nil && !more {
		err = o.Done()
	}
	if err != nil || more {
		return err
	}
	s.open = slices.DeleteFunc(s.open, func(other *source) bool { return other == o })
	return o.Close()
}

// Close closes what is still open.
func (s *sources) Close() error {
	var errs []error
	for _, o := range s.open {
		errs = append(errs, o.Close())
	}
	return errors.Join(errs...)
}
