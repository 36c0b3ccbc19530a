package crawler

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/resource"
)

// Config is what a run is asked to do.
type Config struct {
	api.Config

	Since    time.Time     // calls that started before it are left alone
	Window   time.Duration // how far back calls may still appear or change
	Lookback time.Duration // how far back unsettled calls are looked at (0: 30 days)
	Full     bool          // list everything, whatever was listed before
	ListOnly bool          // no records of calls
	// RelistEvery is how often the whole list is listed again, a part in each run;
	// zero: never.
	RelistEvery time.Duration

	// Transcripts says where they come from; unless from v3, the store must be a BulkStore.
	Transcripts Transcripts

	// Resources are what is fetched besides calls, a parent before its children. The store
	// must be an ObjectStore then.
	Resources []*resource.Resource
	// Organization is the id of the organisation itself; empty: it is not known, and the
	// resource that needs it is not asked for.
	Organization string

	// Bodies asks for records that never change, once each: see [resource.Resource.Lasting].
	Bodies bool

	// MaxDuration ends the run in good order after this time; zero: never.
	MaxDuration time.Duration
	// CheckpointEvery is how often a long run offers the store to commit (0: 2 minutes).
	CheckpointEvery time.Duration

	// Ready is called once, after the service has answered for the first time and its
	// clock has been found to agree with ours, and before anything is asked of the
	// store or put into it. Its error ends the run. nil: nothing.
	Ready func(context.Context) error
}

func (cfg Config) withDefaults() Config {
	cfg.SetDefaults()
	cfg.Lookback = cmp.Or(cfg.Lookback, 30*24*time.Hour)
	cfg.CheckpointEvery = cmp.Or(cfg.CheckpointEvery, 2*time.Minute)
	cfg.Probe = api.Request{Path: callsPath, Query: url.Values{"limit": {"1"}}}
	return cfg
}

func (cfg *Config) check() error {
	if min(cfg.Window, cfg.Lookback, cfg.RelistEvery, cfg.MaxDuration) < 0 {
		return errors.New("durations cannot be negative")
	}
	return nil
}
