package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/render"
	"callhouse/internal/sandbox/world"
)

// V2 says how the calls of v2 are served. The zero value serves them well.
type V2 struct {
	// Off is the status that every request for them is answered with; 0: they are served.
	Off int
	// RemovedAfter is how many lists are answered before Off begins, which is 404 then
	// unless it is set; 0: they are not removed.
	RemovedAfter int
	OtherShape   bool // answers are JSON, with 200, but neither a list of calls nor a call
	Refused      bool // every list is refused with 422 and detail

	// WrongTurns is the share of calls in whose transcripts a turn is missing, or a
	// character of a turn or of a tool's answer is another one. [Server.V2Wrong] tells them.
	WrongTurns float64
	SpokenOnly bool // transcript_with_tool_calls is null
	// DuplicateKeys gives every call of a list the member status twice; the first is right.
	DuplicateKeys bool

	// Shift makes a pagination_key stand for how many calls came before, so that calls
	// which arrive or vanish between two pages shift all later ones.
	Shift bool
	// IgnoreStart makes lists ignore start_timestamp.
	IgnoreStart bool
	// ExtraCalls is how many calls v2 has that v3 does not know.
	ExtraCalls int64

	// SlowAbove is how many calls a page may have before Slow happens to it: "stall" (no
	// answer until the client gives up; the default), "500", "504", or "cut" (the
	// connection ends in the middle of the body); 0: any number.
	SlowAbove int
	Slow      string
}

// v2Mode is one thing that can be set.
type v2Mode struct {
	name  string
	usual string // the value where none is given; empty where there has to be one
	set   func(v *V2, value string) error
}

var v2Modes = []v2Mode{
	{"off", "404", func(v *V2, value string) error { return number(&v.Off, value) }},
	{"removed-after", "", func(v *V2, value string) error { return number(&v.RemovedAfter, value) }},
	{"other-shape", "true", func(v *V2, value string) error { return truth(&v.OtherShape, value) }},
	{"422", "true", func(v *V2, value string) error { return truth(&v.Refused, value) }},
	{"wrong-turns", "", func(v *V2, value string) (err error) {
		v.WrongTurns, err = strconv.ParseFloat(value, 64)
		return err
	}},
	{"spoken-only", "true", func(v *V2, value string) error { return truth(&v.SpokenOnly, value) }},
	{"duplicate-keys", "true", func(v *V2, value string) error { return truth(&v.DuplicateKeys, value) }},
	{"shift", "true", func(v *V2, value string) error { return truth(&v.Shift, value) }},
	{"ignore-filter", "true", func(v *V2, value string) error { return truth(&v.IgnoreStart, value) }},
	{"extra-calls", "", func(v *V2, value string) error { return number(&v.ExtraCalls, value) }},
	{"slow-above", "", func(v *V2, value string) error {
		value, v.Slow, _ = strings.Cut(value, ":")
		return number(&v.SlowAbove, value)
	}},
}

func number[N int | int64](into *N, value string) error {
	n, err := strconv.Atoi(value)
	*into = N(n)
	return err
}

func truth(into *bool, value string) (err error) {
	*into, err = strconv.ParseBool(value)
	return err
}

// ParseV2 reads "off=410,removed-after=3" or "wrong-turns=0.01,slow-above=200:cut".
func ParseV2(text string) (V2, error) {
	var v V2
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		name, value, given := strings.Cut(entry, "=")
		i := slices.IndexFunc(v2Modes, func(m v2Mode) bool { return m.name == name })
		if i < 0 {
			var names []string
			for _, m := range v2Modes {
				names = append(names, m.name)
			}
			return v, fmt.Errorf("no mode of v2 is called %q; there are %s", name, strings.Join(names, ", "))
		}
		if !given {
			value = v2Modes[i].usual
		}
		if err := v2Modes[i].set(&v, value); err != nil {
			return v, fmt.Errorf("mode %s of v2 cannot be %q", name, value)
		}
	}
	return v, v.check()
}

func (v *V2) check() error {
	switch {
	case v.Off != 0 && (v.Off < 400 || v.Off > 599):
		return fmt.Errorf("status of v2 must be 400 to 599, not %d", v.Off)
	case v.RemovedAfter < 0 || v.SlowAbove < 0 || v.ExtraCalls < 0:
		return errors.New("a number of v2 must not be negative")
	case !(v.WrongTurns >= 0 && v.WrongTurns <= 1):
		return fmt.Errorf("rate of wrong turns must be 0 to 1, not %v", v.WrongTurns)
	case !slices.Contains([]string{"", "stall", "500", "504", "cut"}, v.Slow):
		return fmt.Errorf("large pages of v2 can stall, 500, 504 or cut, not %q", v.Slow)
	}
	return nil
}

// SetV2 changes how the calls of v2 are served from now on. Its ExtraCalls have to be
// what they were at the start.
func (s *Server) SetV2(v V2) error {
	if err := v.check(); err != nil {
		return fmt.Errorf("set v2: %w", err)
	}
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	if v.ExtraCalls != s.v2.ExtraCalls {
		return errors.New("set v2: the number of extra calls cannot change")
	}
	s.v2, s.listed = v, 0
	return nil
}

// modes returns how a request for calls of v2 is served now.
func (s *Server) modes(list bool) V2 {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	v := s.v2
	if v.RemovedAfter == 0 {
		return v
	}
	if s.listed < v.RemovedAfter {
		if list {
			s.listed++
		}
		v.Off = 0
	} else if v.Off == 0 {
		v.Off = http.StatusNotFound
	}
	return v
}

// WorldV2 returns the data that v2 shows: that of World, and the extra calls.
func (s *Server) WorldV2() *world.World { return s.list2.world }

// hideExtra makes a configuration hide n calls for ever, all over the first ones.
func hideExtra(c *Config, n int64) error {
	if n > c.Calls {
		return fmt.Errorf("extra calls must be at most the calls, %d, not %d", c.Calls, n)
	}
	every, others := c.Calls/n, c.DeletedAt
	c.DeletedAt = func(index int64) (time.Time, bool) {
		if index/every < n && index%every == every/2 {
			return time.UnixMilli(1), true
		}
		if others == nil {
			return time.Time{}, false
		}
		return others(index)
	}
	return nil
}

// V2Wrong reports whether v2 shows another transcript of a call than v3, by WrongTurns
// as they are now.
func (s *Server) V2Wrong(c *world.Call) bool {
	v := s.modes(false)
	return v.wrong(c) != 0
}

// wrong returns the draw for what is wrong with a call's transcript; 0: nothing is.
func (v *V2) wrong(c *world.Call) uint64 {
	agent, user, _, _ := c.Items()
	if h := dice.Hash(c.Key, 31); agent+user > 0 && !c.OptedOut && dice.Unit(h) < v.WrongTurns {
		return dice.Mix(h) | 1<<63
	}
	return 0
}

// form is how a call is written.
func (v *V2) form(c *world.Call, single bool) render.V2Form {
	return render.V2Form{Single: single, Wrong: v.wrong(c), SpokenOnly: v.SpokenOnly, Twice: v.DuplicateKeys}
}

// slow returns a page's answer, or what becomes of it if it has too many calls.
func (v *V2) slow(page answer, calls int, x *scratch) answer {
	if v.SlowAbove == 0 || calls <= v.SlowAbove {
		return page
	}
	switch v.Slow {
	case "500":
		return failure(x, http.StatusInternalServerError, "the page is too large", "")
	case "504":
		return webAnswer(http.StatusGatewayTimeout, "504 Gateway Time-out")
	case "cut":
		page.fault = FaultCut
	default:
		page.fault = FaultHang
	}
	return page
}
