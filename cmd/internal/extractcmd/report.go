package extractcmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
	"callhouse/internal/words"
)

// listedAside is how many of the calls set aside the report names; the rest
// are counted.
const listedAside = 5

// writeReport tells a person what a run came to.
// rep is nil for one that did not come to crawl.
func writeReport(w io.Writer, row *schema.Run, rep *crawler.Report, failures []string, snapshot string) {
	if rep == nil {
		rep = new(crawler.Report)
	}
	took := time.Duration(row.EndedAt.V-row.StartedAt) * time.Millisecond
	words.Fprintf(w, "run %s %s in %s\n", row.ID, row.Outcome, cli.Clock(took))
	line := func(name, format string, args ...any) {
		words.Fprintf(w, "  %-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	n := humanize.Comma
	line("requests", "%s: %s pages, %s details, %s retries; %s refused (429), %.1f %% of the budget used",
		n(row.Requests), n(row.PageRequests), n(row.DetailRequests), n(row.Retries), n(row.RateLimited),
		float64(row.BudgetUsedPercent.V)/10_000)
	if bad := row.ServerErrors + row.NetworkErrors; bad > 0 {
		line("failures", "%s by the service (5xx), %s on the way", n(row.ServerErrors), n(row.NetworkErrors))
	}
	line("calls", "%s listed: %s new, %s changed, %s settled", n(row.CallsListed), n(row.CallsNew), n(row.CallsChanged), n(row.CallsSettled))
	line("transcripts", "%s fetched (%s turns), %s pending", n(row.Transcripts), n(row.Turns), n(row.CallsPending))
	if row.CallsMissing > 0 {
		line("missing", "%s listed calls have no record of their own (404)", n(row.CallsMissing))
	}
	if row.CallsSetAside > 0 {
		line("set aside", "%s, which could not be had or read; they are tried again when they are listed again", cli.Plural(row.CallsSetAside, "call"))
		for _, a := range rep.Aside[:min(len(rep.Aside), listedAside)] {
			line("", "%s: %s", cmp.Or(a.CallID, "(no id)"), a.Reason)
		}
	}
	if lost := rep.Unaccounted(); lost != 0 {
		line("lost", "%s of those listed are neither stored nor set aside: a defect of callhouse", cli.Plural(lost, "call"))
	}
	if row.Drift > 0 {
		line("drift", "%s values were not as expected: %s", n(row.Drift), driftText(rep.DriftFields))
	}
	for _, p := range rep.Problems {
		line("problem", "%s", p)
	}
	for _, f := range failures[:min(len(failures), listedAside)] {
		line("data test", "%s", f)
	}
	if more := len(failures) - listedAside; more > 0 {
		line("", "and %d more", more)
	}
	if rep.DeadlineHit {
		line("deadline", "the time was up; the next run goes on from here")
	}
	if snapshot != "" {
		line("warehouse", "%s", snapshot)
	}
}

// driftText names the places where values departed most often.
func driftText(fields map[crawler.DriftKey]int64) string {
	type count struct {
		text string
		n    int64
	}
	var all []count
	for k, n := range fields {
		all = append(all, count{fmt.Sprintf("%s %s %s", k.Path, k.Kind, humanize.Comma(n)), n})
	}
	slices.SortFunc(all, func(a, b count) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.text, b.text)) })
	var texts []string
	for i, c := range all {
		if i == listedAside {
			texts = append(texts, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		texts = append(texts, c.text)
	}
	return strings.Join(texts, ", ")
}
