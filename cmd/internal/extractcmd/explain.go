package extractcmd

import (
	"context"
	"errors"
	"io/fs"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/sink"
)

// explain gives an error of the parts its exit code and the line that says what
// to do about it.
func explain(err error) error {
	if err == nil {
		return nil
	}
	var (
		done    *cli.Error
		locked  *sink.LockedError
		damage  *layout.DamageError
		lost    *layout.CurrentError
		full    *sink.NoSpaceError
		version *layout.VersionError
		column  *layout.ColumnError
		auth    *crawler.AuthError
		unreach *crawler.UnreachableError
		address *crawler.AddressError
		down    *crawler.ServiceDownError
		clock   *crawler.ClockError
		path    *fs.PathError
	)
	switch {
	case errors.As(err, &done):
		return err
	case errors.As(err, &locked):
		return cli.Fail(cli.ExitLocked, err, "wait for it to end; the lock goes with its process, so there is never one to remove by hand")
	case errors.As(err, &version):
		return cli.Fail(cli.ExitFailed, err, "nothing was changed")
	case errors.As(err, &lost):
		return cli.Fail(cli.ExitFailed, err, lost.Hint())
	case errors.As(err, &column):
		return cli.Fail(cli.ExitFailed, err, "nothing was changed; query, status and verify read it as it is")
	case errors.As(err, &damage):
		return cli.Fail(cli.ExitFailed, err, damage.Hint())
	case errors.As(err, &full):
		return cli.Fail(cli.ExitFailed, err, "free some space and run again: nothing fetched is lost")
	case errors.As(err, &auth):
		return cli.Fail(cli.ExitFailed, err, "check the key in the service's dashboard; what was fetched before is committed")
	case errors.As(err, &unreach):
		return cli.Fail(cli.ExitFailed, err, "check --base-url (CALLHOUSE_BASE_URL) and the network")
	case errors.As(err, &address):
		return cli.Fail(cli.ExitFailed, err, "set --base-url (CALLHOUSE_BASE_URL) to the part of the address before /v3")
	case errors.As(err, &down):
		return cli.Fail(cli.ExitFailed, err, "what was fetched is committed; the next run goes on from there")
	case errors.As(err, &clock):
		return cli.Fail(cli.ExitFailed, err, "nothing was written or erased; set this machine's clock right, or run with --yes if it is the service's that is wrong")
	case errors.As(err, &path):
		return cli.Fail(cli.ExitFailed, err, "--warehouse (CALLHOUSE_WAREHOUSE) must name a folder that this user may write to")
	case errors.Is(err, context.Canceled):
		return cli.Fail(cli.ExitInterrupted, errors.New("interrupted"), "what was fetched is kept; run again to go on")
	}
	return cli.Fail(cli.ExitFailed, err, "")
}
