package compare

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/runreport"
	"callhouse/internal/calls"
	"callhouse/internal/schema"
	"callhouse/internal/words"
)

// namedCalls is how many calls of a kind are named; the rest are counted.
const namedCalls = 100

// Why the comparison stopped early.
const (
	Interrupted = "interrupted"
	TimeUp      = "the time was up"
)

// Report is the result of the comparison with the service.
type Report struct {
	Requests int64   `json:"requests"`
	Pages    int64   `json:"page_requests"`
	Details  int64   `json:"detail_requests"`
	Side     int64   `json:"resource_requests"` // for lists of resources
	Retries  int64   `json:"retries"`
	Seconds  float64 `json:"seconds"`

	Calls       int64 `json:"calls_compared"`
	Transcripts int64 `json:"transcripts_compared"`
	// New and Moved are not differences: New calls could not have been listed by any run yet, and
	// Moved calls are unsettled and have newer data at the service.
	New   int64 `json:"new_at_the_service"`
	Moved int64 `json:"not_settled_and_changed"`
	// Gone are calls no longer listed by the service, Emptied those without their transcript there.
	// The warehouse keeps both.
	Gone    named `json:"no_longer_at_the_service"`
	Emptied named `json:"transcripts_no_longer_at_the_service"`

	Lacking   named    `json:"lacking"`
	Different named    `json:"different_transcripts"`
	Changed   named    `json:"changed_after_settled"`
	Skipped   int64    `json:"calls_not_compared"`
	SetAside  int64    `json:"details_not_compared"`
	Problems  []string `json:"not_listed"` // why parts of the list could not be fetched
	Stopped   string   `json:"stopped,omitempty"`

	Resources []*Objects `json:"resources"` // besides calls
}

// named counts calls and names the first of them.
type named struct {
	Count int64       `json:"count"`
	Calls []namedCall `json:"calls"`
}

// namedCall is a call, and the fields in which it differs.
type namedCall struct {
	CallID string       `json:"call_id"`
	Start  *time.Time   `json:"start_at"`
	Fields []difference `json:"fields,omitempty"`
}

// difference is a field with another value at the service. Texts are omitted because they are
// private.
type difference struct {
	Field     string `json:"field"`
	Warehouse string `json:"warehouse,omitempty"`
	Service   string `json:"service,omitempty"`
}

func (n *named) add(c *calls.Call, found []schema.Difference) {
	n.Count++
	if len(n.Calls) == namedCalls {
		return
	}
	call := namedCall{CallID: string(c.ID())}
	if c.StartAt().OK {
		at := time.UnixMilli(c.StartAt().V).UTC()
		call.Start = &at
	}
	for _, d := range found {
		call.Fields = append(call.Fields, difference{d.Field, d.A, d.B})
	}
	n.Calls = append(n.Calls, call)
}

// complete reports whether everything could be compared.
func (r *Report) complete() bool {
	return r.Stopped == "" && r.Skipped == 0 && r.SetAside == 0 && len(r.Problems) == 0 && len(r.objectSums().problems) == 0
}

// Err returns the command's error for the findings.
func (r *Report) Err() error {
	if r == nil {
		return nil
	}
	objects := r.objectSums()
	switch {
	case r.Lacking.Count > 0:
		return cli.Fail(cli.ExitFailed, fmt.Errorf("the warehouse lacks %s", cli.Plural(r.Lacking.Count, "call")),
			"extract run --full lists all calls again and fetches them")
	case r.Different.Count > 0:
		return cli.Fail(cli.ExitFailed, fmt.Errorf("%s from the service's", plural(r.Different.Count, "transcript", "differs", "differ")),
			"the list does not show this change; fetch the calls again: extract run --call-id "+r.Different.Calls[0].CallID)
	case objects.lacking > 0:
		return cli.Fail(cli.ExitFailed, fmt.Errorf("the warehouse lacks %s other than calls that the service has",
			cli.Plural(objects.lacking, "object")),
			"extract run lists them again; versions and documents only when their agent or knowledge base changes")
	case objects.different > 0:
		return cli.Fail(cli.ExitFailed, fmt.Errorf("%s from the service's", plural(objects.different, "record", "differs", "differ")),
			"a run fetches a record again only when the list shows that its object has changed")
	case r.Stopped == Interrupted:
		return cli.Fail(cli.ExitInterrupted, errors.New(Interrupted), "data received before was compared")
	case !r.complete():
		return cli.Fail(cli.ExitIncomplete, errors.New("not everything could be compared"), "the compared data is correct")
	case objects.changed > 0:
		return cli.Fail(cli.ExitIncomplete, fmt.Errorf("%s from the service's without an edit",
			plural(objects.changed, "object", "differs", "differ")),
			"extract run fetches the change")
	case r.Changed.Count > 0:
		return cli.Fail(cli.ExitIncomplete, fmt.Errorf("%s changed at the service after being settled",
			plural(r.Changed.Count, "call", "has", "have")),
			"runs list all calls again within a week; extract run --full does it now")
	}
	return nil
}

// plural counts things with a matching verb.
func plural(n int64, thing, one, many string) string {
	if n == 1 {
		many = one
	}
	return cli.Plural(n, thing) + " " + many
}

// Write prints the report for people; nothing for a nil report.
func (r *Report) Write(w io.Writer) {
	if r == nil {
		return
	}
	list := func(n *named, what string) {
		for _, c := range n.Calls {
			started := "without a start"
			if c.Start != nil {
				started = "of " + c.Start.Format(time.DateTime)
			}
			words.Fprintf(w, "call %q %s: %s%s\n", c.CallID, started, what, fieldText(c.Fields))
		}
		if more := n.Count - int64(len(n.Calls)); more > 0 {
			words.Fprintf(w, "and %s more\n", humanize.Comma(more))
		}
	}
	list(&r.Lacking, "the warehouse lacks it")
	list(&r.Different, "its transcript differs from the service's: ")
	list(&r.Changed, "changed since it was settled: ")
	r.objectFindings(w)
	verdict, objects := "consistent with the service", r.objectSums()
	if r.Lacking.Count+r.Different.Count+r.Changed.Count+objects.lacking+objects.different+objects.changed > 0 {
		verdict = "not consistent with the service"
	} else if len(r.Problems) > 0 {
		verdict = "consistent with the part of the list that the service shows"
	}
	n := humanize.Comma
	words.Fprintf(w, "%s: compared %s, %s, with %s (%s pages, %s details, %s retries) in %s\n", verdict,
		cli.Plural(r.Calls, "call"), cli.Plural(r.Transcripts, "transcript"), cli.Plural(r.Requests, "request"), n(r.Pages), n(r.Details),
		n(r.Retries), cli.Clock(time.Duration(r.Seconds*float64(time.Second))))
	if r.New > 0 {
		words.Fprintf(w, "%s new at the service since it was last listed\n", plural(r.New, "call", "is", "are"))
	}
	if r.Moved > 0 {
		words.Fprintf(w, "%s changed before being settled; the next run fetches the change\n", plural(r.Moved, "call", "has", "have"))
	}
	if r.Gone.Count > 0 {
		words.Fprintf(w, "%s no longer at the service: %s\n", plural(r.Gone.Count, "call", "is", "are"), firstIDs(&r.Gone))
	}
	if r.Emptied.Count > 0 {
		words.Fprintf(w, "%s no longer at the service: %s\n", plural(r.Emptied.Count, "transcript", "is", "are"), firstIDs(&r.Emptied))
	}
	r.writeObjects(w)
	for _, p := range r.Problems {
		words.Fprintf(w, "part of the list was not compared: %s\n", p)
	}
	if r.Skipped > 0 {
		words.Fprintf(w, "%s not compared\n", plural(r.Skipped, "call", "is", "are"))
	}
	if r.SetAside > 0 {
		words.Fprintf(w, "%s could not be fetched\n", cli.Plural(r.SetAside, "record"))
	}
	if r.Stopped != "" {
		words.Fprintln(w, r.Stopped)
	}
}

// fieldText names the fields that differ, with both values if known.
func fieldText(fields []difference) string {
	var out []string
	for _, f := range fields {
		text := f.Field
		if f.Warehouse != "" || f.Service != "" {
			text += fmt.Sprintf(" is %s in the warehouse, %s at the service", f.Warehouse, f.Service)
		}
		out = append(out, text)
	}
	return runreport.First(out)
}

func firstIDs(n *named) string {
	var ids []string
	for i, c := range n.Calls {
		if i == runreport.Listed {
			return strings.Join(ids, ", ") + ", …"
		}
		ids = append(ids, fmt.Sprintf("%q", c.CallID))
	}
	return strings.Join(ids, ", ")
}
