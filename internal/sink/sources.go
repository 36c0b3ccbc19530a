package sink

import (
	"errors"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// sources reads several periods of a snapshot as if they were one: the days
// that become a month. A period is opened when its first call may be the next,
// and closed behind its last, so of days, which do not overlap, only one is
// open at a time; but those with calls that have no start wait for the end.
type sources struct {
	c       *commit
	only    *schema.Table  // whose rows are read; nil: of all tables
	waiting []*layout.File // of calls, not opened yet, by their lowest start
	open    []*source
	cur     *source // the source of the call that next returned last
}

// source is one period with its next call.
type source struct {
	*periodReader
	call *schema.Call
}

func newSources(c *commit, periods []string, only *schema.Table) *sources {
	s := &sources{c: c, only: only}
	for _, p := range periods {
		if f := c.fileOf(schema.Calls.Name, p); f != nil {
			s.waiting = append(s.waiting, f)
		}
	}
	slices.SortFunc(s.waiting, func(a, b *layout.File) int {
		return compareKey(lowest(a), a.Period, lowest(b), b.Period)
	})
	return s
}

// lowest returns the key below which a file of calls holds none.
func lowest(f *layout.File) schema.Opt[int64] {
	if f.MinStart == nil {
		return schema.Opt[int64]{}
	}
	return schema.Some(*f.MinStart)
}

// next returns the next call, or nil at the end. The call before must have been
// taken, copied or skipped.
func (s *sources) next() (*schema.Call, error) {
	if s.cur != nil {
		if err := s.advance(s.cur); err != nil {
			return nil, err
		}
		s.cur = nil
	}
	for {
		first := s.first()
		if len(s.waiting) > 0 && (first == nil || compareKey(lowest(s.waiting[0]), "", first.call.StartAt(), string(first.call.ID())) <= 0) {
			if err := s.openNext(); err != nil {
				return nil, err
			}
			continue
		}
		if first == nil {
			return nil, nil
		}
		s.cur = first
		return first.call, nil
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

func (s *sources) openNext() error {
	p, err := s.c.openTables(s.waiting[0].Period, s.only)
	if err == nil {
		err = p.lossless()
	}
	if err != nil {
		return err
	}
	s.waiting = s.waiting[1:]
	o := &source{periodReader: p}
	s.open = append(s.open, o)
	return s.advance(o)
}

// advance reads a source's next call; at its end it is closed.
func (s *sources) advance(o *source) (err error) {
	if o.call, err = o.periodReader.next(); err != nil || o.call != nil {
		return err
	}
	if err := o.done(); err != nil {
		return err
	}
	s.open = slices.DeleteFunc(s.open, func(other *source) bool { return other == o })
	return o.close()
}

func (s *sources) close() error {
	var errs []error
	for _, o := range s.open {
		errs = append(errs, o.close())
	}
	return errors.Join(errs...)
}
