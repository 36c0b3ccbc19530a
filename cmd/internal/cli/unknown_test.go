package cli_test

import (
	"testing"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
)

// A value that is no number is explained without the words of strconv.
func TestFlagValues(t *testing.T) {
	for _, c := range []struct{ arg, want string }{
		{"--top=-3", `--top must be a whole number, not "-3"`},
		{"--top=5000000000", `--top must be closer to 0, not "5000000000"`},
		{"--calls=", `--calls must be a whole number, not ""`},
		{"--share=half", `--share must be a number, not "half"`},
		{"--quiet=no!", `--quiet must be true or false, not "no!"`},
		{"--every=soon", `invalid argument "soon" for "--every" flag: "soon" is not a duration: use e.g. 90m, 6h or 7d`},
		{"--tops=3", "unknown flag: --tops"},
	} {
		cmd := &cobra.Command{Use: "test"}
		cmd.Flags().Uint32("top", 0, "")
		cmd.Flags().Int64("calls", 0, "")
		cmd.Flags().Float64("share", 0, "")
		cmd.Flags().Bool("quiet", false, "")
		cli.SpanVar(cmd.Flags(), new(time.Duration), "every", 0, "")
		err := cli.FlagError(cmd, cmd.ParseFlags([]string{c.arg}))
		if err == nil || err.Error() != c.want || cli.Code(err) != cli.ExitUsage {
			t.Errorf("%s: %v, exit code %d; want %s", c.arg, err, cli.Code(err), c.want)
		}
	}
}
