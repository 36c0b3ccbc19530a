package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"iter"
	"slices"
	"unicode/utf8"
)

// span is a part of a text that is a secret, with the rule that found it.
type span struct {
	from, to int
	why      string
}

// reader looks for secrets in one text, which is not JSON.
type reader struct {
	text  []byte
	query bool // it is the query of an address
	body  bool // JSON with placeholders: quoted values are values
	found []span
}

// inText returns the secrets in a text, in order and without overlaps.
func inText(text []byte, query, body bool) []span {
	if len(text) < shortestText && !query {
		return nil
	}
	r := reader{text: text, query: query, body: body}
	r.separated()
	r.sentences()
	r.schemes()
	r.elements()
	r.formats()
	r.privateKeys()
	slices.SortStableFunc(r.found, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	end := 0
	return slices.DeleteFunc(r.found, func(s span) bool {
		inside := s.from < end
		end = max(end, s.to)
		return inside
	})
}

// shortestText is the minimum length of a text with a secret and something around it.
const shortestText = 8

func (r *reader) add(from, to int, why string) {
	if from < to {
		r.found = append(r.found, span{from, to, why})
	}
}

// marked records an existing mark, and reports whether there is one.
func (r *reader) marked(at int, why string) bool {
	if !bytes.HasPrefix(r.text[at:], []byte(Mark)) {
		return false
	}
	r.add(at, at+len(Mark), why)
	return true
}

// separated checks each colon and equals sign: addresses, and names with values.
func (r *reader) separated() {
	for p := 0; p < len(r.text); p++ {
		i := bytes.IndexAny(r.text[p:], ":=")
		if i < 0 {
			return
		}
		switch p += i; {
		case bytes.HasPrefix(r.text[p:], []byte("://")):
			r.address(p + 3)
			p += 2
		case r.text[p] == ':' && r.sip(p):
		default:
			r.setting(p, 1)
		}
	}
}

// address checks an address; at is after its slashes. It finds the part before an @, and secret
// paths.
func (r *reader) address(at int) {
	end := at
	for end < len(r.text) && !endsAddress(r.text[end]) && bytes.IndexByte([]byte("/?#"), r.text[end]) < 0 {
		end++
	}
	if bytes.HasPrefix(r.text[at:], []byte(Mark+"@")) {
		r.marked(at, userInfo)
		at += len(Mark) + 1
		end = max(at, end)
	}
	user := bytes.LastIndexByte(r.text[at:end], '@')
	if colon := bytes.IndexByte(r.text[at:end], ':'); user < 0 && colon >= 0 && !startsPort(r.text[at+colon+1:end]) {
		all := end // a password that contains a slash
		for all < len(r.text) && !endsAddress(r.text[all]) {
			all++
		}
		user = bytes.LastIndexByte(r.text[at:all], '@')
	}
	if user >= 0 {
		if name := r.text[at : at+user]; !isReference(name) && string(name) != "git" && !allReferences(name) {
			r.add(at, at+user, userInfo)
		}
		at += user + 1
	}
	for _, h := range secretPaths {
		i := bytes.Index(r.text[at:min(len(r.text), at+200)], []byte(h))
		if i >= 0 && i <= 40 && !bytes.ContainsAny(r.text[at:at+i], " \n\"'?") {
			from := at + i + len(h)
			if r.marked(from, "path of a webhook") {
				return
			}
			to := from
			slashes := h[len(h)-1] == '/'
			for to < len(r.text) && !endsAddress(r.text[to]) && r.text[to] != '?' && (slashes || r.text[to] != '/') {
				to++
			}
			if to-from >= 8 && !isReference(r.text[from:to]) {
				r.add(from, to, "path of a webhook")
			}
			return
		}
	}
}

const userInfo = "user or password in an address"

// secretPaths are addresses whose path is a secret.
var secretPaths = []string{"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/",
	"discord.com/api/webhooks/",
	"discordapp.com/api/webhooks/", "api.telegram.org/bot", "hooks.zapier.com/hooks/catch/", ".webhook.office.com/webhookb2/",
	"outlook.office.com/webhook/", "hook.us1.make.com/", "hook.eu1.make.com/", "hook.us2.make.com/", "hook.eu2.make.com/", "webhook.site/",
	"maker.ifttt.com/trigger/"}

// startsPort reports whether the text after a host's colon is a port, or a placeholder for one.
func startsPort(text []byte) bool {
	return len(text) == 0 || text[0] >= '0' && text[0] <= '9' || text[0] == '{' || text[0] == '$' || text[0] == '<' || text[0] == '['
}

func endsAddress(c byte) bool {
	return c <= ' ' || bytes.IndexByte([]byte("\"'<>`\\"), c) >= 0
}

// sip checks a SIP address, whose user may have a password: sip:1001:password@host.
func (r *reader) sip(colon int) bool {
	before := bytes.ToLower(r.text[max(0, colon-4):colon])
	if !bytes.HasSuffix(before, []byte("sip")) && !bytes.HasSuffix(before, []byte("sips")) {
		return false
	}
	end := colon + 1
	for end < len(r.text) && !endsAddress(r.text[end]) {
		end++
	}
	of := r.text[colon+1 : end]
	user := bytes.LastIndexByte(of, '@')
	if user < 0 {
		return false
	}
	if i := bytes.IndexByte(of[:user], ':'); i >= 0 {
		r.add(colon+2+i, colon+1+user, userInfo)
	}
	return true
}

// setting checks a name and its value: token=x, X-Api-Key: x, "password": "x". The sign between
// them is at p and n bytes long.
func (r *reader) setting(p, n int) {
	c, at := r.text[p], p+n
	comparison := c == '=' && p > 0 && bytes.IndexByte([]byte("=!<>:"), r.text[p-1]) >= 0
	if comparison || at < len(r.text) && (r.text[at] == '=' || r.text[at] == ':') {
		return
	}
	if c == '=' && at < len(r.text) && r.text[at] == '>' {
		at++
	}
	from, to := r.nameBefore(p)
	name := string(r.text[from:to])
	query := c == '=' && r.inQuery(from)
	s := senseIn(name, query)
	if s.level == harmless || s.headers {
		return
	}
	if s.why = "value of " + name; query {
		s.why = "parameter " + name + " of a query"
	}
	begin, quoted := r.valueAt(at)
	if r.marked(begin, s.why) {
		return
	}
	end := r.valueEnd(begin, quoted, query)
	value := r.text[begin:end]
	if len(value) == 0 || isReference(value) || end < len(r.text) && r.text[end] == '(' {
		return
	}
	tight := c == '=' && r.text[p-1] != ' ' && (begin == at || quoted != 0 && begin == at+1)
	if isSet(s, value, query, tight || quoted != 0 && r.body) {
		r.add(begin, end, s.why)
	}
}

// isSet reports whether a name in a text is followed by a secret. sure means that only a value can
// follow; otherwise the text may be a word in a sentence.
func isSet(s sense, value []byte, query, sure bool) bool {
	switch {
	case s.level == suspect:
		return random(value)
	case query, s.numbers && isPIN(value), mixed(value):
		return true
	}
	return sure && len(value) > 2 && !trivial[plainName(string(value))] && !isAmount(value)
}

// inQuery reports whether the name that begins at a place is a parameter of a query.
func (r *reader) inQuery(at int) bool {
	if at == 0 {
		return r.query
	}
	before := r.text[at-1]
	return before == '?' || before == '&' || before == ';' && r.query
}

// valueAt returns the beginning of the value after a sign, and its quote; 0: none.
func (r *reader) valueAt(at int) (begin int, quoted byte) {
	for at < len(r.text) && (r.text[at] == ' ' || r.text[at] == '\t') {
		at++
	}
	if at < len(r.text) && r.text[at] == '\\' {
		at++
	}
	if at < len(r.text) && bytes.IndexByte([]byte("\"'`"), r.text[at]) >= 0 {
		return at + 1, r.text[at]
	}
	return at, 0
}

// nameBefore returns the beginning and end of the name before a sign.
func (r *reader) nameBefore(p int) (from, to int) {
	to = p
	for to > 0 && r.text[to-1] == ' ' && p-to < 2 {
		to--
	}
	for range 3 { // quotes, with or without a backslash, or a bracket
		if to > 0 && bytes.IndexByte([]byte("\"'`\\]*"), r.text[to-1]) >= 0 {
			to--
		}
	}
	from = to
	for from > 0 && to-from < longestName && inName(r.text[from-1]) {
		from--
	}
	for from < to && !utf8.RuneStart(r.text[from]) {
		from++
	}
	return from, to
}

func inName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c >= utf8.RuneSelf
}

// valueEnd returns the end of a value.
func (r *reader) valueEnd(at int, quoted byte, query bool) int {
	ends := " \t\r\n&,;\"'<>()[]{}|`\\"
	switch {
	case quoted != 0:
		ends = string(quoted) + "\r\n\\"
	case query:
		ends = " \t\r\n&#\"'<>`)\\"
	}
	if bytes.HasPrefix(r.text[at:], []byte("{{")) || bytes.HasPrefix(r.text[at:], []byte("${")) {
		if i := bytes.IndexByte(r.text[at:], '}'); i >= 0 {
			for i < len(r.text)-at && r.text[at+i] == '}' {
				i++
			}
			return at + i
		}
	}
	if i := bytes.IndexAny(r.text[at:], ends); i >= 0 {
		return trimmed(r.text, at, at+i, quoted != 0)
	}
	return trimmed(r.text, at, len(r.text), quoted != 0)
}

// trimmed removes the punctuation of a sentence from an unquoted value.
func trimmed(text []byte, from, to int, quoted bool) int {
	for !quoted && to > from && bytes.IndexByte([]byte(".,;!?:"), text[to-1]) >= 0 {
		to--
	}
	return to
}

// each yields the places of a word in the text.
func (r *reader) each(word string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for p := 0; ; p++ {
			i := bytes.Index(r.text[p:], []byte(word))
			if i < 0 {
				return
			}
			if p += i; !yield(p) {
				return
			}
		}
	}
}

// sentences checks sentences that reveal a secret: the password is x.
func (r *reader) sentences() {
	for at := range r.each(" is ") {
		r.setting(at, len(" is "))
	}
}

// schemes looks for secrets after Bearer and Basic.
func (r *reader) schemes() {
	for _, scheme := range []string{"earer ", "asic "} {
		for i := range r.each(scheme) {
			if start := i - 1; start >= 0 && (r.text[start]|0x20 == 'b') {
				r.scheme(start, i+len(scheme))
			}
		}
	}
}

// scheme checks the text after one of these words.
func (r *reader) scheme(start, at int) {
	why := string(r.text[start:at-1]) + " in a text"
	if r.marked(at, why) {
		return
	}
	end := at
	for end < len(r.text) && (inBase64(r.text[end]) || r.text[end] == '.' || r.text[end] == '~') {
		end++
	}
	end = trimmed(r.text, at, end, false)
	value := r.text[at:end]
	if r.text[start+1] == 'a' { // Basic
		if plain, err := base64.StdEncoding.DecodeString(string(value)); err == nil && bytes.IndexByte(plain, ':') > 0 {
			r.add(at, end, why)
		}
		return
	}
	whole := start == 0 && end == len(r.text) && r.text[0] == 'B'
	if mixed(value) || len(value) >= 24 || whole && !kindsOfAuth[plainName(string(value))] && !trivial[string(value)] {
		r.add(at, end, why)
	}
}

// elements looks for XML elements with a secret name.
func (r *reader) elements() {
	for at := range r.each("</") {
		end := at + 2
		for end < len(r.text) && (inName(r.text[end]) || r.text[end] == ':') {
			end++
		}
		name := r.text[at+2 : end]
		open := bytes.LastIndexByte(r.text[:at], '>') + 1
		value := bytes.TrimSpace(r.text[open:at])
		if open == 0 || len(value) == 0 || isReference(value) {
			continue
		}
		if i := bytes.LastIndexByte(name, ':'); i >= 0 {
			name = name[i+1:]
		}
		if s := senseOf(string(name)); s.level == certain && !s.headers {
			from := open + bytes.Index(r.text[open:at], value)
			r.add(from, from+len(value), "element "+string(name))
		}
	}
}

// privateKeys looks for private keys in the formats of OpenSSL and others.
func (r *reader) privateKeys() {
	for p := 0; ; {
		i := bytes.Index(r.text[p:], []byte("-----BEGIN "))
		if i < 0 {
			return
		}
		at := p + i
		head := bytes.Index(r.text[at+11:], []byte("-----"))
		if head < 0 {
			return
		}
		p = at + 11 + head + 5
		if !bytes.Contains(r.text[at:p], []byte("PRIVATE KEY")) && !bytes.Contains(r.text[at:p], []byte("SECRET")) {
			continue
		}
		to := len(r.text)
		if end := bytes.Index(r.text[p:], []byte("-----END ")); end >= 0 {
			to = p + end + 9
			if tail := bytes.Index(r.text[to:], []byte("-----")); tail >= 0 {
				to += tail + 5
			}
		}
		r.add(at, to, "private key")
		p = to
	}
}
