package extractcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/calls"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

// deepFindings is the result of comparing the warehouse with the service's list of calls.
type deepFindings struct {
	Requests int64 `json:"requests"`
	Listed   int64 `json:"calls_listed"`
	Total    int64 `json:"calls_counted_by_service"` // -1: unknown
	Compared int64 `json:"calls_compared"`
	// New and Moved are not faults: no run could list the former, and the latter are not settled.
	New   int64 `json:"new_at_the_service"`
	Moved int64 `json:"not_settled_and_changed"`
	// Gone calls are kept in the warehouse, but are no longer listed.
	Gone     namedCalls `json:"no_longer_listed"`
	Missing  namedCalls `json:"missing"`
	States   namedCalls `json:"different_status"`
	Skipped  int64      `json:"calls_not_compared"`
	Problems []string   `json:"not_listed"` // why parts of the list could not be fetched
	Stopped  string     `json:"stopped,omitempty"`
	zone     *time.Location
}

// namedCalls counts calls and names the first maxNamed of them.
type namedCalls struct {
	Count int64    `json:"count"`
	Calls []string `json:"calls"`
}

const maxNamed = 100

func (n *namedCalls) add(call string) {
	if n.Count++; len(n.Calls) < maxNamed {
		n.Calls = append(n.Calls, call)
	}
}

// listedCall is a call of the service's list.
type listedCall struct {
	start  schema.Opt[int64]
	status string
}

// lister is a store that keeps the list of calls in memory, and stores nothing.
type lister struct {
	crawler.Store
	mu       sync.Mutex
	decoder  calls.Decoder
	call     calls.Call
	statuses map[string]string // equal ones share memory
	listed   map[string]listedCall
	covered  []schema.Span
}

// Put implements crawler.Store.
func (l *lister) Put(_ context.Context, recs ...schema.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range recs {
		switch r := &recs[i]; r.Kind {
		case schema.KindItem:
			if err := l.decoder.Decode(r.Body, r.Kind, &l.call); err != nil {
				return err
			}
			status, known := l.statuses[string(l.call.Status())]
			if !known {
				status = string(l.call.Status())
				l.statuses[status] = status
			}
			l.listed[r.CallID] = listedCall{l.call.StartAt(), status}
		case schema.KindCovered:
			var span schema.Span
			if err := json.Unmarshal(r.Body, &span); err != nil {
				return err
			}
			l.covered = append(l.covered, span)
		}
	}
	return nil
}

// Checkpoint implements crawler.Store.
func (l *lister) Checkpoint(context.Context, bool) error { return nil }

// Coverage implements crawler.Store: everything is listed.
func (l *lister) Coverage() []schema.Span { return nil }

// compareDeep lists all calls of the service and compares them with the warehouse. It keeps about 150
// bytes per call in memory. It locks the warehouse throughout: two programs must not spend the same
// budget, and this one needs to know how much the last one spent.
func compareDeep(ctx context.Context, s *settings, cfg crawler.Config, stderr io.Writer) (*deepFindings, error) {
	opts := s.options(runID(s.Now()))
	opts.ReadOnly = true
	var found *deepFindings
	err := s.openWith(opts, func(w *sink.Warehouse) error {
		l := &lister{Store: w, statuses: map[string]string{}, listed: map[string]listedCall{}}
		screen := newScreen(stderr, s.Quiet)
		defer screen.close()
		log := screen.logger(screen.out)
		s.warnPlain(log)
		remember(&cfg, w, log)
		cfg.Resources, cfg.Transcripts, cfg.ListOnly, cfg.Full, cfg.AnyClock = nil, crawler.FromV3, true, true, true
		cfg.Logger, cfg.Now = log, s.Now
		c, err := crawler.New(cfg, l)
		if err != nil {
			return cli.Usage("", "%w", err)
		}
		log.Info("listing the service's calls for comparison", "service", cfg.BaseURL, "key_from", cfg.KeySource)
		stop := screen.watch(log, c.Progress)
		rep, err := c.Run(ctx)
		stop()
		if err != nil {
			return explain(err)
		}
		found = &deepFindings{zone: s.zone(), Requests: rep.Requests, Listed: int64(len(l.listed)), Total: rep.TotalCount, Problems: rep.Problems,
			Skipped: rep.ItemsAside}
		switch {
		case rep.Interrupted:
			found.Stopped = "interrupted"
		case rep.DeadlineHit:
			found.Stopped = "the time was up"
		}
		// Even after an interrupt: the requests are already spent.
		return found.compare(context.WithoutCancel(ctx), w, l, &cfg)
	})
	return found, err
}

// compare compares the current snapshot with the list.
func (d *deepFindings) compare(ctx context.Context, w *sink.Warehouse, l *lister, cfg *crawler.Config) error {
	s := w.Snapshot()
	since := max(0, cfg.Since.UnixMilli())
	for call, err := range sink.Calls(ctx, s, &schema.Calls) {
		if err != nil {
			return err
		}
		id, start := string(call.ID()), call.StartAt()
		listed, ok := l.listed[id]
		delete(l.listed, id)
		switch {
		case !ok && start.OK && start.V < since:
		case !ok && start.OK && within(l.covered, start.V), !ok && !start.OK && since == 0 && d.complete():
			d.Gone.add(d.describe(id, start))
		case !ok:
			d.Skipped++
		default:
			d.Compared++
			switch {
			case listed.status == string(call.Status()):
			case call.Unsettled():
				d.Moved++
			default:
				d.States.add(fmt.Sprintf("%s is %q in the warehouse, %q at the service", d.describe(id, start), call.Status(), listed.status))
			}
		}
	}
	var sure []schema.Span // ranges whose calls must all have been listed by earlier runs
	for _, span := range s.Manifest.Coverage {
		span.To = crawler.SureUntil(span, cfg.Window, cfg.Now().UnixMilli())
		sure = append(sure, span)
	}
	for _, id := range slices.Sorted(maps.Keys(l.listed)) { // the named ones are the same every time
		call := l.listed[id]
		switch {
		case w.Forgot(id):
		case call.start.OK && within(sure, call.start.V):
			d.Missing.add(d.describe(id, call.start))
		default:
			d.New++
		}
	}
	return nil
}

func within(spans []schema.Span, at int64) bool {
	return slices.ContainsFunc(spans, func(s schema.Span) bool { return s.From <= at && at < s.To })
}

func (d *deepFindings) describe(id string, start schema.Opt[int64]) string {
	if !start.OK {
		return fmt.Sprintf("call %q without a start", id)
	}
	return fmt.Sprintf("call %q of %s", id, cli.Moment(time.UnixMilli(start.V).In(d.zone)))
}

func (d *deepFindings) complete() bool {
	return d.Stopped == "" && d.Skipped == 0 && len(d.Problems) == 0
}

// err returns the command's error for the findings.
func (d *deepFindings) err() error {
	switch {
	case d == nil:
		return nil
	case d.Missing.Count > 0:
		return cli.Fail(cli.ExitFailed, fmt.Errorf("%s missing in the warehouse", areIs(d.Missing.Count)),
			"extract run --full lists all calls again and fetches them")
	case d.Stopped == "interrupted":
		return cli.Fail(cli.ExitInterrupted, errors.New(d.Stopped), "the calls listed before were compared")
	case !d.complete():
		return cli.Fail(cli.ExitIncomplete, errors.New("not everything could be compared"), "the compared data is correct")
	case d.States.Count > 0:
		return cli.Fail(cli.ExitIncomplete, fmt.Errorf("%s settled, with another status at the service", areIs(d.States.Count)),
			"runs list all calls again within a week; extract run --full does it now")
	}
	return nil
}

// areIs counts calls with a matching verb.
func areIs(n int64) string {
	if n == 1 {
		return "1 call is"
	}
	return cli.Plural(n, "call") + " are"
}

// write prints the findings as text.
func (d *deepFindings) write(w io.Writer) {
	if d == nil {
		return
	}
	list := func(what string, n *namedCalls) {
		for _, c := range n.Calls {
			words.Fprintf(w, "%s: %s\n", what, c)
		}
		if more := n.Count - int64(len(n.Calls)); more > 0 {
			words.Fprintf(w, "%s: %d more\n", what, more)
		}
	}
	list("missing", &d.Missing)
	list("different status", &d.States)
	list("no longer listed", &d.Gone)
	verdict := "consistent with the service"
	switch {
	case d.Missing.Count+d.States.Count > 0:
		verdict = "not consistent with the service"
	case !d.complete():
		verdict = "consistent with the part of the list that was read"
	}
	counted := ""
	if d.Total >= 0 {
		counted = fmt.Sprintf(" (the service counts %d)", d.Total)
	}
	words.Fprintf(w, "%s: compared %s of %d listed%s, with %s\n", verdict, cli.Plural(d.Compared, "call"), d.Listed, counted,
		cli.Plural(d.Requests, "request"))
	for _, line := range [...]struct {
		n    int64
		what string
	}{{d.New, "new at the service since it was last listed"}, {d.Moved, "not settled and changed; the next run fetches the change"},
		{d.Gone.Count, "no longer listed by the service; the warehouse keeps them"}, {d.Skipped, "not compared"}} {
		if line.n > 0 {
			words.Fprintf(w, "%s %s\n", areIs(line.n), line.what)
		}
	}
	for _, p := range d.Problems {
		words.Fprintf(w, "part of the list was not compared: %s\n", p)
	}
	if d.Stopped != "" {
		words.Fprintln(w, d.Stopped)
	}
}
