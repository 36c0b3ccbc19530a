package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callhouse/internal/words"
)

// UnknownCommand returns the error for an unknown command of root; what names the kind of command.
func UnknownCommand(root *cobra.Command, what, name, hint string) error {
	var known []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	if near := words.Nearest(name, known); near != "" {
		hint = DidYouMean(root.Name()+" "+near, hint)
	}
	return Usage(hint, "unknown %s %q", what, name)
}

// FlagError explains an error of flag parsing and suggests the most similar flag.
func FlagError(cmd *cobra.Command, err error) error {
	hint := "run: " + cmd.CommandPath() + " --help"
	if _, name, ok := strings.Cut(err.Error(), "unknown flag: --"); ok {
		var known []string
		add := func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, f.Name)
			}
		}
		cmd.Flags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		if near := words.Nearest(name, known); near != "" {
			hint = DidYouMean("--"+near, hint)
		}
	}
	return Usage(hint, "%w", FlagValue(err))
}

// FlagValue rewords pflag's error for a value that is no number or boolean, which quotes strconv.
// Other errors are returned as they are.
func FlagValue(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	parsed, of := errors.AsType[*strconv.NumError](err)
	if !ok || !of {
		return err
	}
	must := "a whole number"
	switch { // by the parser: flags may have names of their own for their types
	case errors.Is(parsed, strconv.ErrRange):
		must = "closer to 0"
	case parsed.Func == "ParseFloat":
		must = "a number"
	case parsed.Func == "ParseBool":
		must = "true or false"
	}
	return fmt.Errorf("--%s must be %s, not %q", invalid.GetFlag().Name, must, invalid.GetValue())
}

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage("run: "+cmd.CommandPath()+" --help", "%s takes no arguments, got %q", cmd.Name(), args[0])
	}
	return nil
}
