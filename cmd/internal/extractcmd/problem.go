package extractcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/api"
	"callhouse/internal/layout"
	"callhouse/internal/sink"
	"callhouse/internal/sink/disk"
)

// causes are the known causes of a failed run, and their words in status and in runs. They are matched
// in this order.
var causes = []struct {
	is      func(error) bool
	problem cli.Problem
}{
	{cli.Is[*layout.DamageError], cli.Damaged},
	{cli.Is[*layout.CurrentError], cli.Damaged},
	{cli.Is[*layout.VersionError], cli.Newer},
	{disk.IsNoSpace, cli.Full},
	{cli.Is[*sink.ForeignError], cli.Foreign},
	{cli.Is[*api.AuthError], cli.Refused},
	{cli.Is[*api.UnreachableError], cli.Unreachable},
	{cli.Is[*api.CertificateError], cli.Untrusted},
	{cli.Is[*api.AddressError], cli.Misaddressed},
	{cli.Is[*api.ServiceDownError], cli.Down},
	{cli.Is[*api.ClockError], cli.WrongClock},
}

// problemOf returns the word for the error that ended a run.
func problemOf(err error) cli.Problem {
	if err == nil {
		return cli.NoProblem
	}
	for _, c := range causes {
		if c.is(err) {
			return c.problem
		}
	}
	switch cli.Code(err) {
	case cli.ExitIncomplete:
		return cli.Incomplete
	case cli.ExitInterrupted:
		return cli.Interrupted
	}
	return cli.Failed
}

// explain adds an exit code and a hint to an error: the error's own hint, or else that of its problem.
func explain(err error) error {
	if err == nil || cli.Is[*cli.Error](err) {
		return err
	}
	problem, path := problemOf(err), (*fs.PathError)(nil)
	switch {
	case cli.Is[*disk.LockedError](err):
		return cli.Fail(cli.ExitLocked, err, "wait for it to end; the lock ends with its process and never needs to be removed by hand")
	case cli.Is[*layout.RootError](err), cli.Is[*disk.CapabilityError](err):
		return cli.Usage(cli.Hint(err), "%w", err)
	case problem == cli.Full && errors.As(err, &path):
		return cli.Fail(cli.ExitFailed, fmt.Errorf("no space left under %s: %w", filepath.Dir(path.Path), err), "free some space, or inodes "+
			"(df -i), or raise the quota or the limit on the size of files (ulimit -f), and run again: no fetched data is lost")
	case cli.Hint(err) != "":
		return err
	case problem != cli.Failed:
		return cli.Fail(cli.ExitFailed, err, problem.Help())
	case errors.As(err, &path):
		return cli.Fail(cli.ExitFailed, err, "--warehouse (CALLHOUSE_WAREHOUSE) must name a folder that this user can write to")
	case errors.Is(err, context.Canceled):
		return cli.Fail(cli.ExitInterrupted, errors.New("interrupted"), "fetched data is kept; run again to continue")
	}
	return cli.Fail(cli.ExitFailed, err, "")
}
