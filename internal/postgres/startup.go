package postgres

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// applyStartup applies the settings of the startup message: its options, which others override.
func (c *client) applyStartup(ctx context.Context) error {
	zone, err := c.apply(ctx, "")
	if err != nil {
		return err
	}
	c.values.now = map[string]string{"timezone": zone, "session_authorization": c.User}
	c.values.lasting = c.values.now
	given, err := startOptions(c.Startup["options"])
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Startup)) {
		if name != "user" && name != "database" && name != "options" && name != "replication" && !strings.HasPrefix(name, "_pq_.") {
			given = append(given, [2]string{name, c.Startup[name]})
		}
	}
	for _, option := range given {
		if err := c.set(ctx, option[0], &option[1], false); err != nil {
			return err
		}
	}
	c.restore = c.values.now
	c.keep(true)
	return nil
}

// startOptions parses the options of the startup message: -c name=value, -cname=value, --name=value.
// They are separated by spaces; a backslash escapes one.
func startOptions(text string) (out [][2]string, err error) {
	var words []string
	word, escaped := "", false
	for _, r := range text + " " {
		switch {
		case !escaped && r == '\\':
			escaped = true
			continue
		case escaped || !strings.ContainsRune(" \t\n\r\v\f", r):
			word += string(r)
		case word != "":
			words = append(words, word)
			word = ""
		}
		escaped = false
	}
	for i := 0; i < len(words); i++ {
		option, ok := strings.CutPrefix(words[i], "--")
		if !ok {
			option, ok = strings.CutPrefix(words[i], "-c")
		}
		if ok && option == "" && i+1 < len(words) {
			i++
			option = words[i]
		}
		if !ok {
			return nil, fail(codeSyntax, "invalid command-line argument for server process: "+words[i])
		}
		name, value, ok := strings.Cut(option, "=")
		if !ok {
			return nil, fail(codeSyntax, words[i]+" requires a value")
		}
		out = append(out, [2]string{strings.ReplaceAll(name, "-", "_"), value})
	}
	return out, nil
}

// offsetRE matches a zone in POSIX form: a name, which may be empty, and how far it is behind UTC.
var offsetRE = regexp.MustCompile(`^(?:<[^<>]*>|[^\d,+<>-]*)([+-]?\d{1,2})(?::([0-5]\d)(?::00)?)?$`)

// partHours are zones without daylight saving by their minutes ahead of UTC: the other fixed zones that
// DuckDB knows are whole hours.
var partHours = map[int]string{270: "Asia/Kabul", 330: "Asia/Kolkata", 345: "Asia/Kathmandu", 390: "Asia/Yangon",
	525: "Australia/Eucla", 570: "Australia/Darwin", -570: "Pacific/Marquesas"}

// fixedZone returns the zone of a text with an offset: a plain number is hours ahead of UTC, while an
// offset after a name, such as GMT-9, is behind it. "": none.
func fixedZone(text string) string {
	var ahead int // in minutes
	if hours, err := strconv.ParseFloat(text, 64); err == nil {
		ahead = int(math.Round(60 * max(-24, min(hours, 24))))
	} else if m := offsetRE.FindStringSubmatch(text); m != nil {
		hours, _ := strconv.Atoi(m[1])
		minutes, _ := strconv.Atoi(m[2])
		if ahead = -60*hours - minutes; strings.HasPrefix(m[1], "-") {
			ahead = -60*hours + minutes
		}
	} else {
		return ""
	}
	if ahead%60 != 0 {
		return partHours[ahead]
	}
	return fmt.Sprintf("Etc/GMT%+d", -ahead/60)
}
