package extractcmd

import (
	"testing"

	"github.com/spf13/pflag"

	"callhouse/cmd/internal/config"
	"callhouse/internal/test"
)

// Every flag of run is a setting, except those for a single run, and every setting of extract is a
// flag of run.
func TestEveryFlagIsASetting(t *testing.T) {
	run, _, err := Command().Find([]string{"run"})
	test.OK(t, err)
	known := map[string]bool{"config": true, "profile": true, "all": true, "full": true, "call-id": true, "yes": true, "adopt": true, "help": true, "version": true}
	for i := range config.Keys {
		k := &config.Keys[i]
		if k.For&config.Extract != 0 && run.Flag(k.Flag()) == nil {
			t.Errorf("run has no flag for %s", k.Name)
		}
		known[k.Flag()] = true
	}
	check := func(f *pflag.Flag) {
		if !known[f.Name] && !f.Hidden {
			t.Errorf("--%s is no setting: it belongs into internal/config", f.Name)
		}
	}
	run.Flags().VisitAll(check)
	run.InheritedFlags().VisitAll(check)
}
