package sandbox

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"callhouse/internal/sandbox/dice"
)

// FaultKind names one way for a request to go wrong.
type FaultKind string

// Faults of any request. Besides them, every documented status (400, 401, 403,
// 404, 409, 429, 500, 503) is a kind that answers with the error envelope; 429
// carries Retry-After in seconds.
const (
	Fault429Bare      FaultKind = "429-bare"      // 429 without Retry-After
	Fault429Date      FaultKind = "429-date"      // 429 with Retry-After as an HTTP date
	Fault429Malformed FaultKind = "429-malformed" // 429 with a Retry-After that is neither
	Fault503HTML      FaultKind = "503-html"      // 503 with a web page for a body, as proxies send
	FaultReset        FaultKind = "reset"         // the connection is reset before an answer
	FaultCut          FaultKind = "cut"           // the connection ends in the middle of the body
	FaultTruncated    FaultKind = "truncated"     // a whole answer with 200, and half of the JSON
	FaultNonJSON      FaultKind = "nonjson"       // 200 with a web page
	FaultHuge         FaultKind = "huge"          // 200 with more than 64 MiB
	FaultSlow         FaultKind = "slow"          // the right answer, late
	FaultHang         FaultKind = "hang"          // no answer until the client gives up
)

// Faults of pages alone. None of them loses a call to a client that follows
// next_cursor with care.
const (
	FaultDuplicate FaultKind = "duplicate"   // the page repeats one of its items, or the one before it
	FaultShort     FaultKind = "short"       // fewer items than asked for, and a next cursor
	FaultEmpty     FaultKind = "empty"       // no item, and a next cursor
	FaultLoop      FaultKind = "loop"        // next_cursor is the cursor of this page again
	FaultExpired   FaultKind = "expired"     // 400: the cursor is no longer valid
	FaultTotal     FaultKind = "lying-total" // total_count is wrong
	FaultDisorder  FaultKind = "disorder"    // the items come in another order
)

var pageFaults = []FaultKind{
	FaultDuplicate, FaultShort, FaultEmpty, FaultLoop, FaultExpired, FaultTotal, FaultDisorder,
}

var faultKinds = append([]FaultKind{
	"400", "401", "403", "404", "409", "429", "500", "503",
	Fault429Bare, Fault429Date, Fault429Malformed, Fault503HTML, FaultReset, FaultCut, FaultTruncated,
	FaultNonJSON, FaultHuge, FaultSlow, FaultHang,
}, pageFaults...)

// ofPages reports whether only pages have such faults.
func (k FaultKind) ofPages() bool { return slices.Contains(pageFaults, k) }

// FaultRate is the share of requests that go wrong in one way.
type FaultRate struct {
	Kind FaultKind
	Rate float64
}

// Faults are shares that add up to no more than 1. The share of a page fault is
// of all requests, so that of details nothing happens.
type Faults []FaultRate

// ParseFaults reads "500=0.05,429=0.01,reset=0.01".
func ParseFaults(text string) (Faults, error) {
	var fs Faults
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		kind, rate, ok := strings.Cut(entry, "=")
		if !ok {
			return nil, fmt.Errorf("parse fault %q: want KIND=RATE", entry)
		}
		r, err := strconv.ParseFloat(rate, 64)
		if err != nil {
			return nil, fmt.Errorf("parse fault %q: %q is not a rate", entry, rate)
		}
		fs = append(fs, FaultRate{FaultKind(kind), r})
	}
	return fs, fs.check()
}

func (fs Faults) check() error {
	var sum float64
	for _, f := range fs {
		if !slices.Contains(faultKinds, f.Kind) {
			var names []string
			for _, k := range faultKinds {
				names = append(names, string(k))
			}
			return fmt.Errorf("no fault is called %q; there are %s", f.Kind, strings.Join(names, ", "))
		}
		if !(f.Rate >= 0 && f.Rate <= 1) {
			return fmt.Errorf("rate of fault %s must be 0 to 1, not %v", f.Kind, f.Rate)
		}
		sum += f.Rate
	}
	if sum > 1 {
		return fmt.Errorf("fault rates add up to %v, more than 1", sum)
	}
	return nil
}

// draw returns the fault of a request; empty for none.
func (fs Faults) draw(h uint64, page bool) FaultKind {
	u := dice.Unit(h)
	for _, f := range fs {
		if u -= f.Rate; u < 0 {
			if f.Kind.ofPages() && !page {
				return ""
			}
			return f.Kind
		}
	}
	return ""
}
