package settings

import (
	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/intake"
	"callhouse/internal/api"
	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
)

// cause is a possible cause of an error: its word in status and in runs, and its hint.
type cause struct {
	is      func(error) bool
	problem cli.Problem
	hint    func(error) string
}

// causes are matched in this order. Errors with their own hint keep it.
var causes = []cause{
	{cli.Is[*layout.DamageError], cli.Damaged, cli.Hint},
	{cli.Is[*layout.CurrentError], cli.Damaged, cli.Hint},
	{cli.Is[*layout.VersionError], cli.Newer, says("nothing was changed")},
	{disk.IsNoSpace, cli.Full, cli.Hint},
	{cli.Is[*intake.ForeignError], cli.Foreign, cli.Hint},
	{cli.Is[*api.AuthError], cli.Refused, says("check the key in the service's dashboard; data fetched before is committed")},
	{cli.Is[*api.UnreachableError], cli.Unreachable, says("check --base-url (CALLHOUSE_BASE_URL) and the network")},
	{cli.Is[*api.CertificateError], cli.Untrusted, certificateHint},
	{cli.Is[*api.AddressError], cli.Misaddressed, says("set --base-url (CALLHOUSE_BASE_URL) to the part of the address before /v3")},
	{cli.Is[*api.ServiceDownError], cli.Down, says("fetched data is committed; the next run continues from there")},
	{cli.Is[*api.ClockError], cli.WrongClock,
		says("nothing was written or erased; set this machine's clock, or use --yes to rely on the service's clock")},
}

func says(hint string) func(error) string { return func(error) string { return hint } }

// causeOf returns the first matching cause of an error; nil if none matches.
func causeOf(err error) *cause {
	for i := range causes {
		if err != nil && causes[i].is(err) {
			return &causes[i]
		}
	}
	return nil
}

// ProblemOf returns the word for the error that ended a run.
func ProblemOf(err error) cli.Problem {
	if err == nil {
		return cli.NoProblem
	}
	if c := causeOf(err); c != nil {
		return c.problem
	}
	switch cli.Code(err) {
	case cli.ExitIncomplete:
		return cli.Incomplete
	case cli.ExitInterrupted:
		return cli.Interrupted
	}
	return cli.Failed
}
