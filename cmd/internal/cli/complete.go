package cli

import "github.com/spf13/cobra"

// Complete offers words as the values of a command's flag.
func Complete(cmd *cobra.Command, flag string, words ...string) {
	CompleteFrom(cmd, flag, func() []string { return words })
}

// CompleteFrom offers as a flag's values what words returns when it is asked.
func CompleteFrom(cmd *cobra.Command, flag string, words func() []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words(), cobra.ShellCompDirectiveNoFileComp
	}) // it fails where the flag is not there
}
