package main

import (
	"io"
	"os"
	"testing"
)

// What is no folder makes none.
func TestManualMakesNoFolderOfAFlag(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"--version"}, {}, {""}, {"a", "b"}} {
		t.Chdir(t.TempDir())
		root := command()
		root.SetArgs(args)
		root.SetOut(io.Discard)
		err := root.Execute()
		if made, _ := os.ReadDir("."); len(made) > 0 {
			t.Errorf("%q made %s", args, made[0].Name())
		}
		if help := len(args) == 1 && (args[0] == "--help" || args[0] == "-h"); help != (err == nil) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
