package config

import (
	"strings"
	"testing"
)

func TestEdit(t *testing.T) {
	set := []Pair{{"base_url", "https://new.example.com"}, {"share", "0.5"}, {"tz", "Asia/Seoul"}}
	for name, c := range map[string]struct{ before, after string }{
		"empty": {"", "base_url = \"https://new.example.com\"\nshare = 0.5\ntz = \"Asia/Seoul\"\n"},
		"comments, other keys and tables stay": {
			"# ours\nkeep = \"400d\" # a year\nbase_url = \"https://old.example.com\"\n\n[agents.\"triage\"]\nsuccess = \"transferred\"",
			"# ours\nkeep = \"400d\" # a year\nbase_url = \"https://new.example.com\"\n\nshare = 0.5\ntz = \"Asia/Seoul\"\n[agents.\"triage\"]\nsuccess = \"transferred\""},
		"without a final line break": {"tz = \"Asia/Seoul\"", "tz = \"Asia/Seoul\"\nbase_url = \"https://new.example.com\"\nshare = 0.5\n"},
	} {
		got, err := Environment{}.Edit("/x/callhouse.toml", c.before, set)
		if err != nil || got != c.after {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c.after)
		}
	}
	// Multi-line values and keys of a newer version are left alone.
	for before, says := range map[string]string{
		"base_url = \"\"\"\nhttps://old.example.com\"\"\"\n": "cannot be changed automatically",
		"future = 1\n": "unknown key",
	} {
		if got, err := (Environment{}).Edit("/x/callhouse.toml", before, set); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %q, %v", before, got, err)
		}
	}
}
