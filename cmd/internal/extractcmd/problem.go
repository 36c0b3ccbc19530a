package extractcmd

import (
	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/intake"
	"callhouse/internal/api"
	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
)

// problemOf returns the word for what ended a run.
func problemOf(err error) cli.Problem {
	switch {
	case err == nil:
		return cli.NoProblem
	case cli.Is[*layout.DamageError](err), cli.Is[*layout.CurrentError](err):
		return cli.Damaged
	case cli.Is[*layout.VersionError](err), cli.Is[*layout.ColumnError](err):
		return cli.Newer
	case cli.Is[*disk.NoSpaceError](err):
		return cli.Full
	case cli.Is[*intake.ForeignError](err):
		return cli.Foreign
	case cli.Is[*api.AuthError](err):
		return cli.Refused
	case cli.Is[*api.UnreachableError](err):
		return cli.Unreachable
	case cli.Is[*api.AddressError](err):
		return cli.Misaddressed
	case cli.Is[*api.ServiceDownError](err):
		return cli.Down
	case cli.Is[*api.ClockError](err):
		return cli.WrongClock
	}
	switch cli.Code(err) {
	case cli.ExitIncomplete:
		return cli.Incomplete
	case cli.ExitInterrupted:
		return cli.Interrupted
	}
	return cli.Failed
}
