package status

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/wire"
	"callhouse/internal/words"
)

// Listed is how many things of a kind are named; the rest are counted.
const Listed = 5

// Report is the report of a finished run.
type Report struct {
	Row          *schema.Run     // of the table runs
	Crawl        *crawler.Report // nil: it did not crawl
	ListOnly     bool            // transcripts were skipped
	Failures     []string        // of the data tests
	Snapshot     string          // folder of the current one; empty: none
	Did          sink.Stats      // by its commits
	ErasedBefore time.Time       // calls that started earlier were erased
	Next         int64           // requests of the next night, besides those for new calls; -1: unknown
	NextTakes    time.Duration
}

// Write prints the report for people.
func (r *Report) Write(w io.Writer) {
	row, rep := r.Row, r.Crawl
	if rep == nil {
		rep = new(crawler.Report)
	}
	took := time.Duration(row.EndedAt.V-row.StartedAt) * time.Millisecond
	words.Fprintf(w, "run %s %s in %s\n", row.ID, row.Outcome, cli.Clock(took))
	line := func(name, format string, args ...any) {
		words.Fprintf(w, "  %-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	n := humanize.Comma
	retries := "1 retry"
	if row.Retries != 1 {
		retries = n(row.Retries) + " retries"
	}
	line("requests", "%s: %s, %s, %s; %s rejected (429), %.1f %% of the budget used",
		n(row.Requests), cli.Plural(row.PageRequests+row.Bulk.Requests, "page"), cli.Plural(row.DetailRequests, "detail"), retries,
		n(row.RateLimited), float64(row.BudgetUsedPercent.V)/10_000)
	if bad := row.ServerErrors + row.NetworkErrors; bad > 0 {
		line("failures", "%s of the service (5xx), %s of the network", n(row.ServerErrors), n(row.NetworkErrors))
	}
	r.resources(line)
	line("calls", "%s listed: %s new, %s changed, %s settled", n(row.CallsListed), n(row.CallsNew), n(row.CallsChanged), n(row.CallsSettled))
	if r.ListOnly {
		line("transcripts", "not requested (--list-only), %s pending", n(row.CallsPending))
	} else {
		line("transcripts", "%s fetched (%s), %s pending", n(row.Transcripts), cli.Plural(row.Turns, "turn"), n(row.CallsPending))
	}
	if rep.BulkOff != "" {
		line("", "bulk requests were abandoned: %s", rep.BulkOff)
	}
	r.recordings(line)
	if row.CallsMissing > 0 {
		line("missing", "%s without a record (404), which is requested again for three days", cli.Plural(row.CallsMissing, "listed call"))
	}
	if row.CallsSkipped > 0 {
		line("skipped", "%s not requested: calls of their kind never had one", cli.Plural(row.CallsSkipped, "transcript"))
	}
	if row.CallsSetAside > 0 {
		line("set aside", "%s could not be fetched or read; retried when listed again",
			cli.Plural(row.CallsSetAside, "call"))
		for _, a := range rep.Aside[:min(len(rep.Aside), Listed)] {
			line("", "%s: %s", cmp.Or(a.CallID, "(no id)"), a.Reason)
		}
	}
	if lost := rep.Unaccounted(); lost != 0 {
		line("lost", "%s listed, but neither stored nor set aside: a bug in callhouse", cli.Plural(lost, "call"))
	}
	DriftLine(line, row.Drift, rep.DriftFields)
	RedactedLines(line, RedactedCounts(row.Redacted), Requested)
	if rep.Withheld > 0 {
		line("opted out", "%s withheld: the callers opted out of storage", cli.Plural(rep.Withheld, "value"))
	}
	for _, p := range rep.Problems {
		line("problem", "%s", p)
	}
	for _, f := range r.Failures[:min(len(r.Failures), Listed)] {
		line("data test", "%s", f)
	}
	if more := len(r.Failures) - Listed; more > 0 {
		line("", "and %d more", more)
	}
	if rep.DeadlineHit {
		line("deadline", "time limit reached; the next run continues from here")
	}
	if r.Snapshot != "" {
		line("warehouse", "%s", r.Snapshot)
	}
	if r.Did.Aged > 0 {
		line("erased", "%s that started before %s", cli.Plural(r.Did.Aged, "call"), r.ErasedBefore.Format(time.DateOnly))
	}
	if r.Next >= 0 {
		line("next night", "about %s (%s), and at most one for each new call", cli.Plural(r.Next, "request"), cli.Clock(r.NextTakes))
	}
}

// recordings prints the results for recordings.
func (r *Report) recordings(line liner) {
	if r.Crawl == nil || r.Crawl.Recordings == nil {
		return
	}
	line("recordings", "%s", RecordingsText(r.Crawl.Recordings, r.Row.RecordingsDue.V))
}

// RecordingsText describes the results for recordings. due is the number still to be archived.
func RecordingsText(of *crawler.RecordingReport, due int64) string {
	n := humanize.Comma
	text := n(of.Stored) + " stored (" + humanize.Bytes(uint64(of.Bytes)) + ")"
	for _, c := range []struct {
		n    int64
		what string
	}{{of.Gone, "gone"}, {of.Refused, "refused"}, {of.Requests, "new links requested"}, {due, "due"}} {
		if c.n > 0 {
			text += ", " + n(c.n) + " " + c.what
		}
	}
	if why := cmp.Or(of.Problem, of.Reason); why != "" {
		text += ": " + why
	}
	return text
}

// resources prints the resources that were fetched, and failures.
func (r *Report) resources(line liner) {
	if r.Crawl == nil || len(r.Crawl.Resources) == 0 {
		return
	}
	var sum crawler.ResourceReport
	for _, of := range r.Crawl.Resources {
		sum.Requests, sum.Lists, sum.Items, sum.Records = sum.Requests+of.Requests, sum.Lists+of.Lists, sum.Items+of.Items, sum.Records+of.Records
	}
	line("resources", "%s in %s, %s; %s, %s new or changed", cli.Plural(sum.Items, "object"), cli.Plural(sum.Lists, "complete list"),
		cli.Plural(sum.Records, "record"), cli.Plural(sum.Requests, "request"), humanize.Comma(r.Did.ObjectsChanged))
	for _, of := range r.Crawl.Resources {
		if of.Problem != "" {
			line("", "%s: %s", of.Name, of.Problem)
		}
	}
}

// DriftLine prints the number of unexpected values, if there are any, and the fields with the most.
func DriftLine(line liner, n int64, fields wire.DriftCounts) {
	if n == 0 {
		return
	}
	all := slices.SortedFunc(maps.Keys(fields), func(a, b wire.DriftKey) int {
		return cmp.Or(cmp.Compare(fields[b], fields[a]), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind))
	})
	var texts []string
	for _, k := range all[:min(len(all), Listed)] {
		texts = append(texts, fmt.Sprintf("%s %s %s", k.Path, k.Kind, humanize.Comma(fields[k])))
	}
	if more := len(all) - Listed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	line("drift", "%s unexpected values: %s", humanize.Comma(n), strings.Join(texts, ", "))
}
