package alerts

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/alert/channel"
	"callhouse/internal/test"
	"callhouse/internal/words"
)

// Errors in rules name the rule, and how to fix it.
func TestWrongRules(t *testing.T) {
	const rule = "[channels.a]\ntype = \"stdout\"\n[[rules]]\nname = \"r\"\nto = [\"a\"]\n"
	const durations = rule + "report = \"durations\"\ncolumn = \"calls\"\n"
	for text, want := range map[string]string{
		"[[rules]\n":                         ":1: ",
		"titel = 1\n":                        `:1: unknown key "titel"`,
		rule + "abvoe = 1\n":                 `unknown key "rules.abvoe"`,
		"[[rules]]\nto = [\"a\"]\n":          "rule 1 has no name",
		durations:                            "needs one condition, and has 0",
		durations + "above = 1\nbelow = 2\n": "needs one condition, and has 2",
		durations + "above = 1\n[[rules]]\nname = \"r\"\nto = [\"a\"]\n":                              "the name is repeated",
		strings.Replace(durations, `"a"]`, `"b"]`, 1) + "above = 1\n":                                 `unknown channel "b"`,
		strings.Replace(durations, `to = ["a"]`, "", 1) + "above = 1\n":                               "it has no channel",
		durations + "above = \"1\"\n":                                                                 ":8: above must be a number, without quotes",
		durations + "above = true\n":                                                                  ":8: above must be a number\n",
		durations + "above = 1\nfor = 1.5\n":                                                          ":9: for must be a whole number\n",
		durations + "above = 1\nby = [7]\n":                                                           ":9: by must be text in quotes\n",
		strings.Replace(durations, `["a"]`, `"a"`, 1) + "above = 1\n":                                 ":5: to must be a list, e.g. [\"a\", \"b\"]\n",
		strings.Replace(durations, `"a"]`, `"aa"]`, 1) + "above = 1\n":                                "did you mean: a? add [channels.aa]",
		durations + "above = 1\nwindow = \"week\"\n":                                                  `"week" is not a duration`,
		durations + "above = 1\nwindow = \"1m\"\n":                                                    "window must be 5m or more",
		durations + "above = 1\nremind = \"1m\"\n":                                                    "remind must be 1h or more",
		durations + "changed = \"up\"\n":                                                              "calls has none",
		durations + "unusual = \"up\"\n":                                                              "unusual days are those of the report anomalies",
		durations + "changed = \"sideways\"\n":                                                        `unknown direction changed = "sideways"`,
		rule + "report = \"duration\"\ncolumn = \"calls\"\nabove = 1\n":                               "did you mean: durations?",
		rule + "report = \"durations\"\ncolumn = \"cals\"\nabove = 1\n":                               "did you mean: calls?",
		rule + "report = \"calls\"\ncolumn = \"duration_ms\"\nabove = 1\n":                            "no figures to compare",
		rule + "column = \"p50_ms\"\nunusual = \"up\"\n":                                              `unknown measure "p50_ms"`,
		rule + "column = \"calls\"\nunusual = \"up\"\nwindow = \"7d\"\n":                              "remove window",
		durations + "above = 1\nby = [\"day\"]\n":                                                     "a day, week or month lies in one period only",
		durations + "above = 1\nby = [\"agnet\"]\n":                                                   `unknown dimension "agnet"`,
		durations + "above = 1\nwhere = [\"call_type\"]\n":                                            "has no value",
		durations + "above = 1\nrow = {outcome = \"failed\"}\n":                                       `unknown column of the rows of durations "outcome"`,
		durations + "above = 1\nby = [\"number\"]\n":                                                  "number may be personal data",
		durations + "above = 1\nwhere = [\"metadata.customer=x\"]\n":                                  "metadata.customer may be personal data",
		rule + "report = \"lines\"\ncolumn = \"calls\"\nabove = 1\n":                                  "number may be personal data",
		"page = \"calls.example.com\"\n":                                                              "page is not an address",
		rule + "report = \"costs\"\ncolumn = \"per_success\"\nabove = 1\n":                            `unknown number of the report costs "per_success"`,
		rule + "report = \"costs\"\ncolumn = \"per_success\"\nfield = \"resolved=true\"\nabove = 1\n": "",
		rule + "report = \"lines\"\ncolumn = \"calls\"\nabove = 1\npersonal = true\n":                 "",
	} {
		path := filepath.Join(t.TempDir(), "alerts.toml")
		test.OK(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := read(path)
		if want == "" {
			if err != nil {
				t.Errorf("%s\n%v", text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error()+"\n"+cli.Hint(err), want) || cli.Code(err) != cli.ExitUsage || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s\n%v\n%s\nwant: %s", text, err, cli.Hint(err), want)
		}
	}
}

// Secrets come from files that only their owner can read, or from the environment.
func TestChannels(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		test.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	write("slack", "https://hooks.example.com/services/T0/B0/verysecret\n", 0o600)
	write("open", "https://hooks.example.com/services/T0/B0/verysecret\n", 0o644)
	env := config.Environment{Vars: map[string]string{"HOOK": "https://hooks.example.com/verysecret"}}
	for text, want := range map[string]string{
		"type = \"slack\"\nurl_file = \"slack\"":                                     "",
		"type = \"teams\"\nurl_env = \"HOOK\"":                                       "",
		"type = \"webhook\"\nurl = \"https://example.com\"\nsecret_file = \"slack\"": "",
		"type = \"slack\"\nurl = \"https://hooks.example.com/services/verysecret\"":  "its address is a secret",
		"type = \"slack\"\nurl_file = \"none\"":                                      "does not exist",
		"type = \"slack\"\nurl_file = \"open\"":                                      "can be read by others",
		"type = \"slack\"\nurl_env = \"NONE\"":                                       "NONE is not set",
		"type = \"slack\"\nurl_env = \"HOOK\"\nurl_file = \"slack\"":                 "given twice",
		"type = \"slack\"": "not a URL",
		"type = \"pager\"": `unknown type "pager"`,
		"type = \"mail\"\nserver = \"smtp.example.com\"\nfrom = \"a@example.com\"":                           "no recipients",
		"type = \"webhook\"\nurl = \"https://example.com\"\nca_file = \"slack\"":                             "contains no certificate",
		"type = \"webhook\"\nurl = \"https://example.com\"\nca_file = \"none\"":                              "no such file",
		"type = \"mail\"\nserver = \"smtp.example.com\"\nfrom = \"a@example.com\"\nto = [\"b@example.com\"]": "",
	} {
		write("alerts.toml", "[channels.a]\n"+text+"\n[[rules]]\nname = \"r\"\nreport = \"durations\"\ncolumn = \"calls\"\nabove = 1\nto = [\"a\"]\n", 0o600)
		f, err := read(filepath.Join(dir, "alerts.toml"))
		if err == nil {
			_, err = f.channels(env, channel.Lines{}, words.NewSecrets())
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "verysecret")) {
			t.Errorf("%s\n%v, want %q", text, err, want)
		}
	}
}

// The examples are rules that any warehouse can evaluate.
func TestExamples(t *testing.T) {
	root := house(t, company(rand.New(rand.NewPCG(1, 1)), firstNight.AddDate(0, 0, -16), 16, 2, 20, nil))
	c, _, stderr := over(root, "../../../../deploy/alerts.toml", firstNight.Add(3*time.Hour))
	if err := c.run(t.Context()); err != nil {
		t.Errorf("%v\n%s", err, stderr)
	}
	f, err := fileOf(c.Command)
	if err != nil || len(f.Rules) != 10 {
		t.Fatalf("%v, %d rules", err, len(f.Rules))
	}
	if !strings.Contains(stderr.String(), "10 rules; ") {
		t.Error(stderr.String())
	}
}
