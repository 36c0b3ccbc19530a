package config

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Example returns a file with every key, commented out, so that it changes nothing wherever it is
// stored: a live warehouse = "./warehouse" would mean a folder next to the file.
func Example() string {
	var b strings.Builder
	b.WriteString("# callhouse.toml: settings of extract and query. Flags override the selected profile, which overrides\n" +
		"# environment variables, which override the rest of this file. Every key has a flag (base_url: --base-url)\n" +
		"# and an environment variable (CALLHOUSE_BASE_URL).\n" +
		"# Without --config or CALLHOUSE_CONFIG, the first of these files is read: " + fileName + " in the current\n" +
		"# folder, $XDG_CONFIG_HOME/callhouse/" + fileName + ", /etc/callhouse/" + fileName + ".\n" +
		"# Relative paths are relative to this file's folder.\n" +
		"#\n# All keys are commented out; keys with a default have that value. Do not put the API key itself in this file.\n")
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n", g.title)
		for _, k := range inGroup(g.names) {
			fmt.Fprintf(&b, "\n# %s\n# %s = %s\n", k.About, k.Name, k.literal(cmp.Or(k.Default, k.Sample)))
		}
	}
	b.WriteString(`
# Several organisations: one table each, whose keys override those above: extract run --profile acme
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
`)
	return b.String()
}

// Line returns a line of the file. The value is in the form of its flag.
func Line(name, value string) string {
	return fmt.Sprintf("%s = %s\n", name, keyOf(name).literal(value))
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
