package maintain

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"callhouse/cmd/internal/cli"
)

// headSize is how much of a file's beginning shows its form.
const headSize = 4096

// otherFormats are the first bytes of files that other programs read.
var otherFormats = []struct{ magic, name, unpack string }{
	{"BZh", "bzip2", "bzip2 -dc"},
	{"\xfd7zXZ\x00", "xz", "xz -dc"},
	{"\x04\x22\x4d\x18", "lz4", "lz4 -dc"},
	{"PK\x03\x04", "zip", "unzip -p"},
}

// mistake returns an error, which says how to convert it, for a source that has no calls as lines. head
// is the beginning of its content.
func (s *source) mistake(head []byte) error {
	for _, f := range otherFormats {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return s.convert(f.unpack, "compressed with "+f.name)
		}
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return s.convert("tar -xO -f", "a tar archive")
	}
	if code := wide(head); code != "" {
		return s.convert("iconv -f "+code+" -t UTF-8", code)
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\uFEFF")))
	line, rest, whole := bytes.Cut(text, []byte("\n"))
	line, whole = bytes.TrimSpace(line), whole && !bytes.HasPrefix(bytes.TrimSpace(rest), []byte("{"))
	switch {
	case len(text) == 0:
	case text[0] == '[':
		return s.convert("jq -c '.[]'", "a JSON array, no lines of JSON objects")
	case text[0] == '<', bytes.HasPrefix(text, []byte("PAR1")):
		return s.convert("", "a web page or another format, no lines of JSON objects")
	case text[0] == '{':
		if name := listIn(text); name != "" {
			return s.convert("jq -c '."+name+"[]'", "a page of a list ("+name+"), no lines of calls")
		}
		if whole && bytes.ContainsRune([]byte("{[,"), rune(line[len(line)-1])) {
			return s.convert("jq -c .", "JSON over several lines")
		}
	case whole && bytes.ContainsAny(line, ",;\t") && !bytes.ContainsAny(line, "{}"):
		return s.convert("", "a table such as CSV, no lines of JSON objects")
	}
	return nil
}

// convert returns the error for a source in another form, and the command that converts it.
func (s *source) convert(with, form string) error {
	name, pipe := s.path, with+" "+s.path
	into := " | extract import -"
	if s.file == nil {
		name, pipe = "standard input", "… | "+with
	} else {
		into += " --as-of " + time.UnixMilli(s.asOf).UTC().Format(time.RFC3339) // otherwise it would count as new
	}
	switch {
	case with == "":
		return cli.Usage("import reads calls as the service sends them, one JSON object a line", "%s is %s", name, form)
	case s.unpack != "" && s.file != nil:
		pipe = s.unpack + " " + s.path + " | " + strings.TrimSuffix(with, " -f")
	}
	return cli.Usage(pipe+into, "%s is %s", name, form)
}

// wide returns the encoding of text in UTF-16 or UTF-32, by its byte order mark or by the zeros of its
// first characters; empty if it is neither.
func wide(text []byte) string {
	if len(text) < 4 {
		return ""
	}
	first := string(text[:4])
	switch {
	case first == "\xff\xfe\x00\x00", first == "\x00\x00\xfe\xff":
		return "UTF-32"
	case first[:2] == "\xff\xfe", first[:2] == "\xfe\xff":
		return "UTF-16"
	case first[0] != 0 && first[1] == 0 && first[2] != 0 && first[3] == 0:
		return "UTF-16LE"
	case first[0] == 0 && first[1] != 0 && first[2] == 0 && first[3] != 0:
		return "UTF-16BE"
	}
	return ""
}

// listIn returns the name of the list in the page at the beginning of text; empty if it is no page.
func listIn(text []byte) string {
	d := json.NewDecoder(bytes.NewReader(text))
	_, _ = d.Token() // {
	for d.More() {
		token, _ := d.Token()
		name, _ := token.(string)
		begin, _ := d.Token()
		_, opens := begin.(json.Delim)
		switch {
		case name == "", name == "id", name == "call_id":
			return ""
		case begin == json.Delim('[') && slices.Contains([]string{"items", "calls", "data", "results", "records"}, name):
			return name
		case opens && !skip(d):
			return ""
		}
	}
	return ""
}

// skip reads to the end of the object or array that has begun.
func skip(d *json.Decoder) bool {
	for depth := 1; depth > 0; {
		token, err := d.Token()
		if err != nil {
			return false
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return true
}
