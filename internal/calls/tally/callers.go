package tally

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

const day = 24 * 60 * 60 * 1000

// contact is a contact with a caller. It is small because a month has as many contacts as calls.
type contact struct {
	caller uint64 // 0: none
	start  int64  // ms, times 8, and its facts
}

// Facts of a contact, as the view calls has them.
const (
	undirected = 1 << iota
	wasAnswered
	wasCompleted
)

func (c contact) ms() int64        { return c.start >> 3 }
func (c contact) is(f int64) int64 { return int64(bits.OnesCount64(uint64(c.start & f))) }

// addContact records a call as a contact or an attempt, if it is one.
func (t *Tallies) addContact(c *calls.Call, e ending) {
	if t.givenUp[&schema.AttemptEdges] || !c.StartAt().OK {
		return
	}
	defer t.boundContacts()
	direction := cmp.Or(string(text(c, colDirection)), string(text(c, colCallType)))
	var caller []byte
	facts, f := int64(0), &t.facts
	switch direction {
	case "inbound":
		caller = knownNumber(text(c, colFromE164), text(c, colFromNumber))
	case "outbound":
		caller = knownNumber(text(c, colToE164), text(c, colToNumber))
		f.attempts = append(f.attempts, contact{f.pack(caller), c.StartAt().V<<3 | reached(c, e)})
	case "web": // no direction
	default:
		facts |= undirected
	}
	if t.givenUp[&schema.CallerTallies] || direction != "inbound" && (!e.connected || e.voicemail) {
		return
	}
	if e.answered {
		facts |= wasAnswered
		if e.outcome == completed {
			facts |= wasCompleted
		}
	}
	f.contacts = append(f.contacts, contact{f.pack(caller), c.StartAt().V<<3 | facts})
}

// boundContacts gives up contacts and attempts if there are too many.
func (t *Tallies) boundContacts() {
	f := &t.facts
	if max(len(f.contacts), len(f.attempts)) > mostContacts || len(f.numbers.texts) > mostOddNumbers {
		t.givenUp[&schema.CallerTallies], t.givenUp[&schema.AttemptTallies], t.givenUp[&schema.AttemptEdges] = true, true, true
		f.contacts, f.attempts, f.numbers = nil, nil, newWords()
	}
}

// knownNumber returns the number that identifies a caller, like the macro known_number.
func knownNumber(e164, sent []byte) []byte {
	if e164 == nil && bytes.ContainsAny(sent, "123456789") && !strings.Contains(strings.ToLower(string(sent)), "anonymous") {
		return sent
	}
	return e164
}

// odd marks the packed value of a text that is not a number of at most 16 digits.
const odd = 1 << 63

// pack returns a number for a caller; text is the inverse.
func (f *facts) pack(caller []byte) uint64 {
	if caller == nil {
		return 0
	}
	digits, plus := bytes.CutPrefix(caller, []byte("+"))
	if v, err := strconv.ParseUint(string(digits), 10, 64); err == nil && len(digits) <= 16 {
		packed := v<<6 | uint64(len(digits))<<1
		if plus {
			packed |= 1
		}
		return packed
	}
	return odd | uint64(f.numbers.id(caller))
}

func (f *facts) text(packed uint64) parquet.Value {
	switch {
	case packed == 0:
		return parquet.Value{}
	case packed&odd > 0:
		return f.numbers.value(uint32(packed))
	}
	return schema.TextValue(fmt.Appendf(nil, "%s%0*d", "+"[:packed&1], packed>>1&31, packed>>6))
}

// closeContacts emits the rows of CallerTallies.
func (t *Tallies) closeContacts() error {
	f := &t.facts
	for all := range f.byCaller(f.contacts) {
		t.row = f.appendCaller(t.row[:0], all)
		if err := t.emit(&schema.CallerTallies, t.row); err != nil {
			return err
		}
	}
	f.contacts = nil
	return nil
}

// byCaller sorts contacts by caller and start, and yields those of each caller.
func (f *facts) byCaller(all []contact) iter.Seq[[]contact] {
	slices.SortFunc(all, func(a, b contact) int {
		if a.caller&b.caller&odd > 0 {
			return cmp.Or(f.numbers.compare(uint32(a.caller), uint32(b.caller)), cmp.Compare(a.start, b.start))
		}
		return cmp.Or(cmp.Compare(a.caller, b.caller), cmp.Compare(a.start, b.start))
	})
	return func(yield func([]contact) bool) {
		for len(all) > 0 {
			n := 1
			for n < len(all) && all[n].caller == all[0].caller {
				n++
			}
			if !yield(all[:n]) {
				return
			}
			all = all[n:]
		}
	}
}

// appendCaller appends the columns for a caller's contacts, which must be in order, to a row.
func (f *facts) appendCaller(row parquet.Row, all []contact) parquet.Row {
	var undirectedCalls, answeredCalls, completedCalls, firsts, isFirst int64
	inDay, inWeek := false, false
	for i, c := range all {
		undirectedCalls += c.is(undirected)
		answeredCalls += c.is(wasAnswered)
		completedCalls += c.is(wasCompleted)
		isFirst = c.is(wasCompleted)
		if i > 0 {
			inDay, inWeek = inDay || c.ms()-all[i-1].ms() <= day, inWeek || c.ms()-all[i-1].ms() <= 7*day
			if c.ms() == all[i-1].ms() {
				isFirst = 0
			}
		}
		if i+1 < len(all) && all[i+1].ms()-c.ms() <= day {
			isFirst = 0
		}
		firsts += isFirst
	}
	return append(row, f.text(all[0].caller),
		schema.MillisValue(schema.Some(all[0].ms())), schema.MillisValue(schema.Some(all[len(all)-1].ms())),
		parquet.Int64Value(int64(len(all))), parquet.Int64Value(undirectedCalls), parquet.BooleanValue(inDay), parquet.BooleanValue(inWeek),
		parquet.Int64Value(answeredCalls), parquet.Int64Value(completedCalls), parquet.Int64Value(firsts), parquet.BooleanValue(isFirst > 0))
}
