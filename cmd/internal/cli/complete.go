package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Complete sets the completions of a flag.
func Complete(cmd *cobra.Command, flag string, words ...string) {
	CompleteFrom(cmd, flag, func() []string { return words })
}

// CompleteFrom sets a function that returns the completions of a flag.
func CompleteFrom(cmd *cobra.Command, flag string, words func() []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words(), cobra.ShellCompDirectiveNoFileComp
	}) // fails if the flag does not exist
}

// Choice adds a flag that takes one of the words. The first is the default.
func Choice(cmd *cobra.Command, into *string, flag, usage string, words ...string) {
	*into = words[0]
	cmd.Flags().Var(&choice{into, flag, words}, flag, strings.Join(words, " or ")+usage)
	Complete(cmd, flag, words...)
}

type choice struct {
	value *string
	flag  string
	words []string
}

// Set implements pflag.Value.
func (c *choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return errors.New("--" + c.flag + " takes " + strings.Join(c.words, " or "))
	}
	*c.value = s
	return nil
}

// String implements pflag.Value.
func (c *choice) String() string { return *c.value }

// Type implements pflag.Value.
func (c *choice) Type() string { return "string" }
