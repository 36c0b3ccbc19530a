// Package forecast computes how many requests a run takes, from the data available before it.
package forecast

import "math"

// Range is a number of requests, or of objects that require them. Most is negative if there is no
// known upper bound.
type Range struct{ Least, Most int64 }

// Exactly returns the range of one number.
func Exactly(n int64) Range { return Range{n, n} }

// Plus returns the sum of two numbers.
func (r Range) Plus(o Range) Range {
	most := r.Most + o.Most
	if min(r.Most, o.Most) < 0 {
		most = -1
	}
	return Range{r.Least + o.Least, most}
}

// pageSize is the largest page of a list.
const pageSize = 100

// Pages returns the number of pages for a number of items. An empty list also takes one.
func Pages(items int64) int64 { return max(1, ceil(items, pageSize)) }

func ceil(n, by int64) int64 { return (n + by - 1) / by }

// List returns the pages of a list that had a number of objects when it was last read, divided into
// a number of queries. It may have grown since.
func List(objects, queries int64) Range {
	return Range{max(queries, Pages(objects)), queries - 1 + Pages(Grown(objects))}
}

// Grown returns the assumed maximum number of objects of a list that had a given number when it was
// last read: a fifth more, but at least five more.
func Grown(objects int64) int64 { return objects + max(5, objects/5) }

// Run is the forecast of a run's requests, assuming that none fails.
type Run struct {
	Total     int64 // the service's calls; -1: unspecified
	Known     int64 // the store's calls
	Stretches []Stretch
	List      Range // pages of the stretches, and requests that find out which parameters work
	Again     Range // pages with older calls that are not settled
	Relisted  Range // pages listed again because they were listed long ago
	Calls     Calls
	Transcripts
	Verified  Range // records to compare with transcripts from earlier pages of v2
	Links     Range // records of calls whose link to the recording has expired
	Resources []Resource
	Asked     int64 // requests used by planning itself
}

// Stretch is a part of the list that a run would read: the calls with From <= start_at < To, in ms
// since 1970 UTC; a To of math.MaxInt64 is no bound.
type Stretch struct {
	From, To int64
	Calls    int64 // -1: unspecified
	Pages    int64
}

// Calls are the calls whose transcripts a run may fetch.
type Calls struct {
	Due       int64 // as of the last commit
	Skipped   int64 // not requested because of their kind
	Unsettled int64 // settled by their records, if the list does not settle them
	Open      int64 // maximum number of known calls that may be over or settled when they are listed
	New       int64 // maximum number of listed calls that the store lacks; -1: unknown
}

// most is the maximum number of calls whose transcripts are fetched.
func (c *Calls) most() int64 {
	if c.New < 0 {
		return -1
	}
	return c.Due + max(c.Unsettled, c.Open) + c.New
}

// Transcripts are the requests for transcripts.
type Transcripts struct {
	Bulk     Range // pages of v2
	Compared Range // records compared with them
	Records  Range // the others
	// Fallback is the maximum number of requests for transcripts if pages of v2 are requested but
	// none is usable; 0: they are not requested, -1: unknown.
	Fallback int64
}

// Resource are the requests for one resource besides calls.
type Resource struct {
	Name    string
	Lists   Range // pages of lists
	Records Range // objects' own records
}

// Requests returns the number of requests.
func (r Resource) Requests() Range { return r.Lists.Plus(r.Records) }

// Side returns the requests for all resources.
func (r *Run) Side() (sum Range) {
	for _, of := range r.Resources {
		sum = sum.Plus(of.Requests())
	}
	return sum
}

// Requests returns the requests of the run.
func (r *Run) Requests() Range {
	sum := r.List.Plus(r.Again).Plus(r.Relisted).Plus(r.Side())
	return sum.Plus(r.Bulk).Plus(r.Compared).Plus(r.Records).Plus(r.Verified).Plus(r.Links)
}

// AtMost returns the maximum of Requests if pages of v2 turn out useless; -1: unknown.
func (r *Run) AtMost() int64 {
	if r.Fallback == 0 {
		return r.Requests().Most
	}
	return r.List.Plus(r.Again).Plus(r.Relisted).Plus(r.Side()).Plus(r.Verified).Plus(r.Links).Plus(Range{Most: r.Fallback}).Most
}

// Records returns the transcripts of a run that uses only v3.
func (c *Calls) Records() Transcripts { return Transcripts{Records: Range{c.Due, c.most()}} }

// V2 describes the use of v2's pages.
type V2 struct {
	First, Last   int64 // initial and maximum page size
	Sample, OneIn int64 // compared transcripts: Sample on the first page, and one in OneIn on the others
	Alone         int64 // maximum number of neighbouring due calls that are not worth a page
	Always        bool  // even if it saves nothing
	Rounds        int64 // how often a run fetches transcripts
	// Pages is the number of pages that the calls in Calls.Due take, and Covered the number of
	// calls on them, for the smallest and the largest page size.
	Pages, Covered Range
}

// compared returns the approximate number of compared transcripts for a number of calls.
func (v *V2) compared(calls int64) int64 { return min(calls, v.Sample+calls/v.OneIn) }

// Saves reports whether pages are used for a number of calls.
func (v *V2) Saves(pages, calls int64) bool {
	return calls > 0 && (v.Always || pages+v.compared(calls) < calls/2)
}

// Transcripts returns the requests of a run that may use pages of v2. It assumes that new calls are
// close together in time.
func (v *V2) Transcripts(c *Calls) Transcripts {
	most := c.most()
	if most < 0 {
		return Transcripts{Range{0, -1}, Range{0, -1}, Range{0, -1}, -1}
	}
	add := c.Open + c.New
	fewest := v.Pages.Least + ceil(add, v.Last)
	if !v.Saves(fewest, v.Covered.Most+add) {
		return c.Records()
	}
	var t Transcripts
	t.Bulk.Most = v.Pages.Most + ceil(add, v.First) + v.Rounds
	beyond := float64(most) / float64(v.OneIn) // the number of compared transcripts is random
	t.Compared.Most = min(most, v.Sample+int64(beyond+4*math.Sqrt(beyond))+3)
	apart := c.Due - v.Covered.Least
	t.Records.Most = apart + v.Alone*t.Bulk.Most + c.Open
	if v.Saves(v.Pages.Most, v.Covered.Least) { // even if nothing is added
		t.Bulk.Least, t.Compared.Least = v.Pages.Least, min(v.Sample, v.Covered.Least)
	} else { // a round may have too few calls to save anything
		t.Records.Least = min(c.Due, v.Sample)
		t.Records.Most = max(t.Records.Most, apart+2*v.Rounds*(fewest+1+v.compared(most)))
	}
	t.Records.Most = min(most, t.Records.Most)
	t.Fallback = most + t.Bulk.Most
	return t
}
