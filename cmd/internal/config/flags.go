package config

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callhouse/cmd/internal/cli"
)

// Grouped makes the help of a command list its flags by groups, the needed ones first.
func Grouped(cmd *cobra.Command) {
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		text := "Usage:\n  " + cmd.UseLine() + "\n\nExamples:\n" + cmd.Example + "\n"
		cmd.InheritedFlags() // merges them
		for _, g := range groups {
			of := pflag.NewFlagSet("", pflag.ContinueOnError)
			of.SortFlags = false
			for _, k := range inGroup(g.names) {
				if f := cmd.Flags().Lookup(k.Flag()); f != nil {
					of.AddFlag(f)
				}
			}
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if f.Annotations[annotation] == nil && g.names == "" {
					of.AddFlag(f)
				}
			})
			text += "\n" + g.title + ":\n" + of.FlagUsagesWrapped(80)
		}
		cmd.Print(text)
		return nil
	})
}

// annotation marks the flags of settings, the only ones read from the environment and the file.
const annotation = "callhouse_setting"

// AddFlags adds the flags of all commands to a program's root command.
func (c *Config) AddFlags(root *cobra.Command, program Program) {
	f := root.PersistentFlags()
	c.add(f, program, false)
	f.StringVar(&c.Path, "config", "", "configuration `FILE` ("+EnvFile+"); default: the first callhouse.toml on the search path")
	f.StringVar(&c.Profile, "profile", "", "profile `NAME` in the configuration file ("+EnvProfile+")")
	cli.CompleteFrom(root, "profile", func() []string {
		if f, err := c.Env.Open(c.Path); err == nil && f != nil {
			return f.Profiles
		}
		return nil
	})
	for i := range Keys {
		if words := Keys[i].Words; words != nil {
			cli.Complete(root, Keys[i].Flag(), words...)
		}
	}
}

// AddOwnFlags adds the flags of a program's settings with Own to one of its commands.
func (c *Config) AddOwnFlags(cmd *cobra.Command, program Program) { c.add(cmd.Flags(), program, true) }

// AddFlagsOf adds the flags that only some commands of a program share to one of them.
func (c *Config) AddFlagsOf(cmd *cobra.Command, program Program) { c.add(cmd.Flags(), program, false) }

func (c *Config) add(f *pflag.FlagSet, program Program, own bool) {
	for i := range Keys {
		k := &Keys[i]
		if k.For&program == 0 || k.Own != own {
			continue
		}
		switch into := k.in(&c.Values).(type) {
		case *string:
			f.StringVarP(into, k.Flag(), k.Letter, "", k.About)
		case *int:
			f.IntVarP(into, k.Flag(), k.Letter, 0, k.About)
		case *float64:
			f.Float64VarP(into, k.Flag(), k.Letter, 0, k.About)
		case *bool:
			f.BoolVarP(into, k.Flag(), k.Letter, false, k.About)
		case *time.Duration:
			cli.SpanVar(f, into, k.Flag(), 0, k.About)
		}
		flag := f.Lookup(k.Flag())
		_ = flag.Value.Set(k.Default) // a test sets them all
		flag.DefValue = flag.Value.String()
		flag.Annotations = map[string][]string{annotation: {k.Name}}
		if k.Kind == List {
			flag.Value = repeated{flag.Value, flag}
		}
		if k.Value != "" {
			flag.Value = named{flag.Value, k.Value}
		}
	}
}

// repeated is a list flag that appends when it is repeated.
type repeated struct {
	pflag.Value
	flag *pflag.Flag
}

// Set implements pflag.Value.
func (r repeated) Set(text string) error {
	if before := r.String(); r.flag.Changed && before != "" {
		text = before + "," + text
	}
	return r.Value.Set(text)
}

// named is a flag's value with its own type name in the help.
type named struct {
	pflag.Value
	name string
}

// Type implements pflag.Value.
func (n named) Type() string { return n.name }

// Uses hides the flags that a command does not use from its help, manual page and completion. It
// uses the settings whose declaration names it, and the flags in others. Hidden flags are still
// accepted, so that one set of arguments can serve several commands.
func Uses(cmd *cobra.Command, others ...string) {
	unused := func(f *pflag.Flag) bool {
		name := f.Annotations[annotation]
		return !slices.Contains(others, f.Name) && (name == nil || !slices.Contains(strings.Fields(keyOf(name[0]).Uses), cmd.Name()))
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[annotation] != nil && unused(f) {
			f.Hidden = true
		}
	})
	cmd.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !unused(f) || cmd.Flags().Lookup(f.Name) != nil {
			return
		}
		hidden := *f // the same value, for this command alone
		hidden.Hidden = true
		cmd.Flags().AddFlag(&hidden)
	})
}
