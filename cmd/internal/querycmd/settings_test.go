package querycmd

import (
	"testing"

	"callhouse/cmd/internal/config"
)

// Every setting of query is a flag with the same name and default, and can be set in the file.
func TestEverySettingIsAFlag(t *testing.T) {
	root := Command()
	for i := range config.Keys {
		k := &config.Keys[i]
		if k.For&config.Query == 0 {
			continue
		}
		f := root.PersistentFlags().Lookup(k.Flag())
		for _, cmd := range root.Commands() { // or a flag of one command
			if f == nil {
				f = cmd.Flags().Lookup(k.Flag())
			}
		}
		if f == nil || f.DefValue != k.Default || f.Annotations == nil {
			t.Errorf("%s: flag %+v", k.Name, f)
		}
	}
}
