package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/pflag"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/statefile"
)

// openState opens the file of --state; nil if not set. The flags that determine the world come from
// its head; those given explicitly must match it.
func (f *serveFlags) openState(flags *pflag.FlagSet) (*statefile.File, error) {
	if f.state == "" {
		return nil, nil
	}
	file, err := statefile.Open(f.state)
	switch {
	case errors.Is(err, statefile.ErrInUse):
		return nil, cli.Fail(cli.ExitFailed, err, "stop that sandbox, or use another file with --state")
	case err != nil:
		return nil, cli.Fail(cli.ExitFailed, err, "use another file with --state; it is created if missing")
	}
	for _, name := range slices.Sorted(maps.Keys(file.Settings)) {
		flag, value := flags.Lookup(name), file.Settings[name]
		switch {
		case flag == nil:
			err = fmt.Errorf("%s was written with --%s, which this sandbox does not support", f.state, name)
		case flag.Value.String() == value:
		case flag.Changed:
			err = fmt.Errorf("%s was written with --%s %q, not %q", f.state, name, value, flag.Value)
		default:
			err = flags.Set(name, value)
		}
		if err != nil {
			return nil, errors.Join(cli.Usage("remove the flag, or use another file with --state", "%w", err), file.Close())
		}
	}
	return file, nil
}

// beginState writes the head of a new file: the flags that determine the world, and the instants
// chosen for it.
func (f *serveFlags) beginState(flags *pflag.FlagSet, o sandbox.Options) error {
	f.origin.Time = o.World.Origin
	settings := map[string]string{}
	for _, name := range f.shaping {
		settings[name] = flags.Lookup(name).Value.String()
	}
	if err := o.State.Begin(settings); err != nil {
		return cli.Fail(cli.ExitFailed, err, "use another file with --state, or free some space")
	}
	return nil
}

// keeps describes the content of a state file.
func (f *serveFlags) keeps(file *statefile.File) string {
	text := f.state
	if file.Settings == nil {
		return text + ", new"
	}
	text += fmt.Sprintf(", %d lines", len(file.Lines))
	if file.Cut {
		text += "; an incomplete last line was dropped: its client got no response"
	}
	return text
}
