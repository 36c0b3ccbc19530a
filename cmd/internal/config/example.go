package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Example returns a file with every key. Keys with a default have that value; the others are
// commented out.
func Example() string {
	var b strings.Builder
	b.WriteString("# callhouse.toml: what extract and query are to do. Flags are over the environment, the environment over\n" +
		"# this file. Every key has a flag (base_url: --base-url) and an environment variable (CALLHOUSE_BASE_URL).\n" +
		"# Without --config or CALLHOUSE_CONFIG the first of these is read: " + fileName + " in the folder where the\n" +
		"# command runs, $XDG_CONFIG_HOME/callhouse/" + fileName + ", /etc/callhouse/" + fileName + ".\n" +
		"# A relative path starts at this file's folder.\n" +
		"#\n# The API key itself never stands here.\n")
	for i := range Keys {
		k := &Keys[i]
		text, off := k.Default, ""
		if text == "" {
			text, off = k.Sample, "# "
		}
		fmt.Fprintf(&b, "\n# %s\n%s%s = %s\n", k.About, off, k.Name, k.literal(text))
	}
	b.WriteString(`
# Several organisations: a table each. What it says is over the above; the rest holds for all.
# extract run --profile acme,globex, or --all, runs them side by side.
#
# [profiles.acme]
# base_url = "https://api.example.com"
# api_key_file = "/etc/callhouse/acme.key"
# warehouse = "/var/lib/callhouse/acme"
#
# [profiles.globex]
# base_url = "https://api.example.com"
# api_key_file = "/etc/callhouse/globex.key"
# warehouse = "/var/lib/callhouse/globex"
# keep = "400d"
#
# An agent that is built to transfer calls succeeds by transferring them.
#
# [agents."triage"]
# success = "transferred"
`)
	return b.String()
}

// literal formats a value for the file.
func (k *Key) literal(text string) string {
	switch k.Kind {
	case Integer, Number, Boolean:
		return text
	case List:
		var parts []string
		for p := range strings.SplitSeq(text, ",") {
			parts = append(parts, strconv.Quote(p))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return strconv.Quote(text)
}

// Table returns the reference of all keys in Markdown.
func Table() string {
	var b strings.Builder
	b.WriteString("| key | flag | environment | default | meaning |\n| --- | --- | --- | --- | --- |\n")
	for i := range Keys {
		k := &Keys[i]
		def := ""
		if k.Default != "" {
			def = "`" + k.literal(k.Default) + "`"
		}
		program := ""
		switch k.For {
		case Query:
			program = "query "
		case Publish:
			program = "query publish iceberg "
		}
		flag := strings.TrimSpace(k.Flag() + " " + k.Value)
		fmt.Fprintf(&b, "| `%s` | %s`--%s` | `%s` | %s | %s |\n", k.Name, program, flag, k.Env(), def, k.About)
	}
	return b.String()
}
