package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/limit"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/recordings"
)

// serveFlags are the flags of the server.
type serveFlags struct {
	world              worldFlags
	options            sandbox.Options
	addr, clock, fault string
	limiter            string
	size, wrong        string
	lists, v2          string
	recordings         string
	now, origin        instant
}

func newServe() *cobra.Command {
	f := &serveFlags{}
	c := &cobra.Command{
		Use:   "sandbox",
		Short: "Serve the call API for an invented company",
		Long: `Serve the call API for an invented company: GET /v3/calls and GET /v3/calls/{call_id}, and
of the deprecated v2 POST /v2/calls/list, also at its older path
/functions/v1/v1/list-calls, and GET /v2/calls/{call_id}. Authentication, limits, cursors
and filters work as in the real service, and faults can be injected. Calls are computed
from the seed, not stored; so are the company's other objects, which change with the
clock. Clients can create agents, calls and campaigns.
` + resourceList() + `
Control endpoints, without key or limits:
  GET  /sandbox/truth   exact counts of the calls now (?at=TIME: at that time)
  GET  /sandbox/stats   requests received, and whether they exceeded a limit
  GET  /sandbox/clock   the data's clock; with --clock frozen,
  POST /sandbox/clock   {"advance":"24h"} or {"set":"2026-11-19T12:00:00Z"} moves it
  GET  /v3/openapi.json the API as OpenAPI 3.1; of v2: /v2/openapi.json`,
		Example: `  sandbox --calls 5000
  sandbox --calls 200000 --clock frozen --faults 500=0.05,429=0.01,reset=0.01
  sandbox generate --calls 1000 --details --output calls.ndjson`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.serve(c.Context(), c.ErrOrStderr())
		},
	}
	f.world.add(c)
	fs, o := c.Flags(), &f.options
	fs.StringVar(&f.addr, "addr", "127.0.0.1:8080", "address to listen on; port 0 picks a free port")
	fs.StringArrayVar(&o.Keys, "key", []string{"sandbox-key"}, "accepted API key (repeatable)")
	fs.IntVar(&o.PerSecond, "requests-per-second", 5, "limit for all keys together; 0 for no limit")
	fs.IntVar(&o.PerMinute, "requests-per-minute", 120, "limit for all keys together; 0 for no limit")
	fs.StringVar(&f.limiter, "limiter", string(limit.SlidingLog), "rate limit algorithm: sliding-log, fixed-window or token-bucket")
	fs.BoolVar(&o.ContractOnly, "contract-only", false, "accept only cursor and limit, no filters or order")
	fs.BoolVar(&o.OldFilters, "old-filters", false, "reject the filters campaign_id and customer_id of calls")
	fs.BoolVar(&o.CampaignInCalls, "campaign-in-calls", false, "calls have the field campaign_id")
	fs.StringVar(&f.fault, "faults", "", "shares of requests that fail, as KIND=RATE,…; an unknown KIND lists all kinds")
	fs.StringVar(&f.size, "organisation", "small",
		"resources besides calls: small, large (the sizes of a real company), or none except models, voices and schemas")
	fs.Float64Var(&o.Organisation.Pace, "pace", 1,
		"rate of edits, publications and deletions of those resources, relative to the default; 0 for none")
	fs.StringVar(&f.wrong, "resource-faults", "",
		"permanent faults of those resources, as RESOURCE=KIND,…; an unknown RESOURCE or KIND lists all of them. "+
			"contract: 404 for everything that is not in the contract")
	fs.StringVar(&f.lists, "lists", "", "faults of the list of v3 calls, as MODE or MODE=VALUE,…; an unknown MODE lists all modes")
	fs.StringVar(&f.v2, "v2", "", "faults of v2 calls, as MODE or MODE=VALUE,…; an unknown MODE lists all modes")
	fs.StringVar(&f.recordings, "recordings", "",
		"address to serve the calls' recordings on, as MP3; port 0 picks a free port; empty: links lead to no host")
	fs.DurationVar(&o.Latency, "latency", 0, "delay of every response")
	fs.StringVar((*string)(&o.Counted), "counted", string(sandbox.AtRandom),
		"when during the delay a request is counted: random, arrival or answer")
	fs.DurationVar(&o.Jitter, "jitter", 0, "maximum additional random delay")
	fs.Float64Var(&o.Tail, "latency-tail", 0,
		"makes delays log-normal with this standard deviation of the logarithm; 1: one of a hundred is ten times as long")
	fs.StringVar(&f.clock, "clock", "real", "the data's clock: real, or frozen until /sandbox/clock moves it")
	fs.Var(&f.now, "now", "time of a frozen clock (RFC 3339; default "+defaultNow.Format(time.RFC3339)+"); implies --clock frozen")
	fs.Var(&f.origin, "origin", "time at which --calls have been made (RFC 3339; default: last midnight UTC, or the frozen clock's time)")
	return c
}

// resourceList lists the resources for the help.
func resourceList() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range organisation.All() {
		fmt.Fprintf(t, "  %s\t%s\n", r.Name, strings.Join(r.Paths(), ", "))
	}
	fmt.Fprintf(t, "  v2_campaigns\tPOST /v2/campaigns/list, /v2/campaigns/{campaign_id}\n"+
		"  v2_knowledges\t/v2/knowledge/{knowledge_base_id}\n")
	_ = t.Flush() // into memory
	return b.String()
}

// prepare converts flags to options.
func (f *serveFlags) prepare(now time.Time) (sandbox.Options, error) {
	o := f.options
	o.Limiter = limit.Algorithm(f.limiter)
	// The data's clock may be frozen far from now, and extract would then report a wrong clock.
	o.DateNow = time.Now
	origin := now.UTC().Truncate(24 * time.Hour)
	if !f.now.IsZero() {
		f.clock = "frozen"
	}
	switch f.clock {
	case "real":
	case "frozen":
		if f.now.IsZero() {
			f.now.Time = defaultNow
		}
		o.Clock, origin = sandbox.NewManualClock(f.now.Time), f.now.Time
	default:
		return o, fmt.Errorf("--clock must be real or frozen, not %q", f.clock)
	}
	if !f.origin.IsZero() {
		origin = f.origin.Time
	}
	var err error
	if o.World, err = f.world.world(origin); err != nil {
		return o, err
	}
	if o.Faults, err = sandbox.ParseFaults(f.fault); err != nil {
		return o, err
	}
	if o.ResourceFaults, err = sandbox.ParseResourceFaults(f.wrong); err != nil {
		return o, err
	}
	if o.Lists, err = sandbox.ParseLists(f.lists); err != nil {
		return o, err
	}
	if o.V2, err = sandbox.ParseV2(f.v2); err != nil {
		return o, err
	}
	of := map[string]func() organisation.Sizes{"small": organisation.Small, "large": organisation.Large, "none": organisation.None}
	sizes, ok := of[f.size]
	if !ok {
		return o, fmt.Errorf("--organisation must be small, large or none, not %q", f.size)
	}
	o.Organisation.Sizes = sizes()
	if o.Organisation.Pace == 0 {
		o.Organisation.Pace = -1
	} else if o.Organisation.Pace < 0 {
		return o, errors.New("--pace must not be negative")
	}
	for _, limit := range []*int{&o.PerSecond, &o.PerMinute} {
		if *limit < 0 {
			return o, errors.New("a limit must not be negative; 0 is no limit")
		} else if *limit == 0 {
			*limit = -1
		}
	}
	return o, nil
}

func (f *serveFlags) serve(ctx context.Context, stderr io.Writer) error {
	const hint = "see sandbox --help"
	opts, err := f.prepare(time.Now())
	if err != nil {
		return cli.Usage(hint, "%w", err)
	}
	host, err := f.listenForRecordings(ctx, &opts)
	if err != nil {
		return err
	}
	s, err := sandbox.New(opts)
	if err != nil {
		return cli.Usage(hint, "%w", err)
	}
	r, err := sandbox.Listen(ctx, f.addr, s)
	if err != nil {
		return cli.Fail(cli.ExitFailed, err, "choose another address with --addr; port 0 picks a free port")
	}
	host(s)
	f.banner(stderr, r, opts)
	<-r.Done()
	return r.Close()
}

// listenForRecordings opens the address of the recordings host, and sets it in links. The result
// serves the recordings of a server.
func (f *serveFlags) listenForRecordings(ctx context.Context, o *sandbox.Options) (serve func(*sandbox.Server), err error) {
	if f.recordings == "" {
		return func(*sandbox.Server) {}, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", f.recordings)
	if err != nil {
		return nil, cli.Fail(cli.ExitFailed, err, "choose another address with --recordings; port 0 picks a free port")
	}
	o.Recordings = "http://" + l.Addr().String()
	return func(s *sandbox.Server) { recordings.Serve(ctx, l, &recordings.Host{World: s.World(), Now: s.Now}) }, nil
}

// banner prints the addresses and data being served.
func (f *serveFlags) banner(w io.Writer, r *sandbox.Running, o sandbox.Options) {
	s := r.Server
	now := s.Now()
	clock := "real-time clock"
	if o.Clock != nil {
		clock = "frozen clock, POST /sandbox/clock moves it"
	}
	limits := fmt.Sprintf("%s requests per second, %s per minute for all keys, counted by %s",
		limited(o.PerSecond), limited(o.PerMinute), o.Limiter)
	if o.PerSecond < 0 && o.PerMinute < 0 {
		limits = "none"
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "calls\t%d at %s, about %.0f more per day, seed %d, %s\n",
		s.World().Count(now), now.UTC().Format(time.RFC3339), s.World().PerDay(), f.world.config.Seed, clock)
	fmt.Fprintf(t, "limits\t%s\n", limits)
	if len(o.Faults) > 0 {
		fmt.Fprintf(t, "faults\t%s\n", f.fault)
	}
	if f.v2 != "" {
		fmt.Fprintf(t, "v2\t%s\n", f.v2)
	}
	if o.Recordings != "" {
		fmt.Fprintf(t, "recordings\t%s\n", o.Recordings)
	}
	fmt.Fprintf(t, "truth\t%s/sandbox/truth; requests received: %s/sandbox/stats\n", r.URL, r.URL)
	_ = t.Flush() // stderr: an error cannot be reported
	fmt.Fprintf(w, "\nTo run extract, in another terminal:\n\n"+
		"  export CALLHOUSE_BASE_URL=%s\n  export CALLHOUSE_API_KEY=%s\n\nPress Ctrl-C to stop.\n", r.URL, o.Keys[0])
}

func limited(n int) string {
	if n < 0 {
		return "unlimited"
	}
	return fmt.Sprint(n)
}
