package cli

// Problem is the short name of the state of a failed run or warehouse. extract status prints it first,
// and runs has it in the column problem.
type Problem string

// The problems. The map below has a hint for each.
const (
	NoProblem    Problem = ""
	Refused      Problem = "API key rejected"        // the service refuses the key
	Unreachable  Problem = "unreachable"             // nothing answers at the address
	Untrusted    Problem = "certificate not trusted" // the certificate is not trusted
	Misaddressed Problem = "wrong address"           // something other than the service answers
	Down         Problem = "service down"            // the service fails
	WrongClock   Problem = "clock differs"           // the clocks of this machine and the service disagree
	Full         Problem = "disk full"               // the disk is full
	Damaged      Problem = "damaged"                 // files of the warehouse are damaged
	Newer        Problem = "newer format"            // a newer callhouse wrote the warehouse
	Foreign      Problem = "another organisation"    // calls of another organisation
	Incomplete   Problem = "incomplete"              // committed, but incomplete
	Killed       Problem = "killed"
	Interrupted  Problem = "interrupted"
	Failed       Problem = "failed" // anything else
	Unlisted     Problem = "list incomplete"
	Overdue      Problem = "stale"  // no success for too long
	Unwatched    Problem = "alerts" // the rules of alerts are not evaluated
)

var help = map[Problem]string{
	Refused:      "correct the API key (extract config shows its source), then: extract run",
	Unreachable:  "check --base-url (CALLHOUSE_BASE_URL) and the network, then: extract run",
	Untrusted:    "check the service's certificate, and this machine's clock and trusted authorities, then: extract run",
	Misaddressed: "set --base-url (CALLHOUSE_BASE_URL) to the part of the address before /v3, then: extract run",
	Down:         "once the service responds again: extract run",
	WrongClock:   "set this machine's clock, or use --yes to rely on the service's clock, then: extract run",
	Full:         "free some space, then: extract run",
	Damaged:      "extract repair",
	Newer:        "install the newest callhouse",
	Foreign:      "check the key, --base-url and --warehouse; if these calls belong here: extract run --adopt",
	Incomplete:   "extract run resumes where the last one stopped",
	Killed:       "extract run commits what was fetched, and continues",
	Interrupted:  "extract run resumes where the last one stopped",
	Failed:       "extract run, and check its output",
	Unlisted:     "extract run lists the missing time ranges",
	Unwatched:    "query alert evaluates the rules, and says why it cannot",
	Overdue:      "extract run; then check that cron or systemd still starts it",
}

// Help returns the hint for a problem; empty for a word unknown to this version.
func (p Problem) Help() string { return help[p] }
