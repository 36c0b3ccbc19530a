package settings

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/api"
	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
)

// Explain adds an exit code and a hint to an error.
func Explain(err error) error {
	if err == nil {
		return nil
	}
	c := causeOf(err)
	switch {
	case cli.Is[*cli.Error](err):
		return err
	case cli.Is[*disk.LockedError](err):
		return cli.Fail(cli.ExitLocked, err, "wait for it to end; the lock ends with its process and never needs to be removed by hand")
	case cli.Is[*layout.RootError](err):
		return cli.Usage(cli.Hint(err), "%v", err)
	case cli.Is[*disk.AbilityError](err):
		return cli.Usage(cli.Hint(err), "%w", err)
	case disk.IsNoSpace(err):
		return explainNoSpace(err)
	case cli.Hint(err) != "": // the error has its own hint
		return err
	case c != nil:
		return cli.Fail(cli.ExitFailed, err, c.hint(err))
	case cli.Is[*fs.PathError](err):
		return cli.Fail(cli.ExitFailed, err, "--warehouse (CALLHOUSE_WAREHOUSE) must name a folder that this user can write to")
	case errors.Is(err, context.Canceled):
		return cli.Fail(cli.ExitInterrupted, errors.New("interrupted"), "fetched data is kept; run again to continue")
	}
	return cli.Fail(cli.ExitFailed, err, "")
}

// certificateHint returns the hint for an untrusted certificate.
func certificateHint(err error) string {
	e, _ := errors.AsType[*api.CertificateError](err)
	switch {
	case e.Plain():
		return "nothing was sent. Check --base-url (CALLHOUSE_BASE_URL); http:// would send the key and the calls unencrypted"
	case e.Outdated():
		return "nothing was sent. The service must renew it, or this machine's clock is wrong"
	case e.Foreign():
		return "nothing was sent. Check --base-url (CALLHOUSE_BASE_URL), and whether a proxy responds instead of the service"
	}
	return "nothing was sent. A proxy may respond instead of the service; for your own authority, set SSL_CERT_FILE to its certificate"
}

// explainNoSpace adds the matching hint to a disk-full error.
func explainNoSpace(err error) error {
	var full *disk.NoSpaceError
	if !errors.As(err, &full) {
		var path *fs.PathError
		if !errors.As(err, &path) {
			return cli.Fail(cli.ExitFailed, err, new(disk.NoSpaceError).Hint())
		}
		full = disk.NoSpace(filepath.Dir(path.Path), 0, err)
		err = full
	}
	return cli.Fail(cli.ExitFailed, err, full.Hint())
}
