package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Uses hides from a command's help, manual page and completion those inherited
// flags that it makes no use of. It still takes them, so that one set of
// arguments can serve several commands.
func Uses(cmd *cobra.Command, names ...string) {
	cmd.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(names, f.Name) || cmd.Flags().Lookup(f.Name) != nil {
			return
		}
		hidden := *f // the same value, for this command alone
		hidden.Hidden = true
		cmd.Flags().AddFlag(&hidden)
	})
}
