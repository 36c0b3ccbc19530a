package querycmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/isolate"
	"callhouse/internal/serve"
	"callhouse/internal/serve/dialect"
)

// sessionJob is the warehouse and limits of a process that answers a user's clients.
type sessionJob struct {
	Warehouse   string
	Root        string // its folder, absolute
	Zone        string // default zone of sessions
	Currency    string
	Goals       []question.Goal
	Users       string // file; empty: no logins
	Memory      int64  // bytes, for all statements of a process over one snapshot
	Connections int    // maximum
}

// job reads the flags and checks that there is a warehouse.
func (c *serving) job(ctx context.Context, loc *time.Location) (j sessionJob, err error) {
	if err := c.memory.CheckMemory(); err != nil {
		return j, err
	}
	if err := database.CheckZone(ctx, loc); err != nil {
		return j, err
	}
	snap, err := database.CurrentAbsolute(c.Warehouse)
	if err != nil {
		return j, err
	}
	return sessionJob{c.Warehouse, snap.Root(), loc.String(), c.Currency, c.Goals, c.users, int64(c.memory), c.maxConnections}, nil
}

// pool returns the pool that starts processes for clients.
func (j sessionJob) pool(who admitted, log *serve.AuditLog, note func(string)) *isolate.Pool {
	return &isolate.Pool{PerUser: who.list != nil, Idle: 5 * time.Minute, Log: note, Audit: log.Write,
		Command: func() *exec.Cmd { return isolate.Command(context.Background()) }, // ends when its stdin is closed
		Job: func(user string) (any, error) {
			own := j
			if who.list != nil {
				_, u, err := who.list.Find(user)
				if err != nil {
					return nil, err
				}
				own.Memory = cmp.Or(u.Memory, j.Memory)
			}
			return map[string]any{"Sessions": own}, nil
		}}
}

// temp is the disk space of a process for data that exceeds memory.
const temp = 10 << 30

// perConnection is the memory of a process besides that of its snapshots, for each connection:
// threads' stacks, and rows in Go's heap.
const perConnection = 16 << 20

// Run limits this process and answers its clients.
func (j sessionJob) Run(ctx context.Context, stdout io.Writer) (err error) {
	loc, err := time.LoadLocation(j.Zone)
	if err != nil {
		return err
	}
	events := isolate.NewEvents(stdout)
	b := &serve.Backend{Zone: loc}
	if j.Users != "" {
		list, err := serve.OpenUsers(j.Users)
		if err != nil {
			return err
		}
		b.Rights = list.Rights
	}
	if err := isolate.Limit(2*j.Memory, int64(64<<20+j.Connections*perConnection), temp); err != nil { // of two snapshots
		return fmt.Errorf("limit the memory: %w", err)
	}
	snapshots, free := j.snapshots(events.Log, dialect.Catalog)
	defer func() { err = cmp.Or(err, free()) }()
	b.Snapshots = snapshots
	return isolate.Run(ctx, events, b)
}

// snapshots opens the warehouse for statements in each reader's dialect. A nil dialect means reports
// only. free closes the warehouse.
func (j sessionJob) snapshots(log func(string), dialect func(rights.Rights) *database.Dialect) (_ *serve.Snapshots, free func() error) {
	h := &serve.Snapshots{Root: j.Root, Log: log}
	h.Open = func(ctx context.Context, loc *time.Location, r rights.Rights) (*analytics.Warehouse, error) {
		o := analytics.Options{Currency: j.Currency, Goals: j.Goals, Options: database.Options{
			Location: loc, Rights: r, Safe: &database.Limits{Memory: j.Memory, Temp: temp}}}
		if dialect != nil {
			o.Dialect = dialect(r)
		}
		return analytics.Open(ctx, j.Warehouse, o)
	}
	stop := cli.Every(readyEvery, h.Look)
	return h, func() error {
		stop()
		return h.Close()
	}
}
