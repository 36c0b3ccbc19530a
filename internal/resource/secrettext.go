package resource

import (
	"bytes"
	"encoding/base64"
	"regexp"
)

// form is a form of secrets in a text that is not JSON. The last group of the pattern is the secret; if there is another, it is
// the secret's name.
type form struct {
	part string // a part of every match: without it, the slower pattern is not tried
	re   *regexp.Regexp
	is   func(value []byte) bool // whether the value is a secret; nil: always
	// query means that the name is that of a parameter.
	query bool
}

var forms = []form{
	{part: "://", re: match(`://([^\s/?#"'<>@\\\[\]]+|[^\s/?#"'<>@\\\[\]:]+:[^\s/0-9"'<>@\\\[{$][^\s"'<>@\\\[]*)@`), is: isUser},
	{part: "@", re: match(`(?i)\bsips?:[^\s:@"'<>]+:([^\s@"'<>\[\]]+)@`)},
	{part: "hook", re: match(`(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks|` +
		`hooks\.zapier\.com/hooks/catch|\.webhook\.office\.com/webhookb2|outlook\.office\.com/webhook|hook\.\w+\.make\.com|` +
		`webhook\.site)/([^\s"'<>?#\\\[\]]{8,})`)},
	{part: "telegram", re: match(`api\.telegram\.org/bot([^\s"'<>?#/\\\[\]]{8,})`)},
	{part: "-----", re: match(`(-----BEGIN [A-Z ]*(?:PRIVATE KEY|SECRET)[A-Z ]*-----(?s:.*?)(?:-----END [A-Z ]*-----|$))`)},
	{part: "earer", re: match(`\b[Bb]earer[ \t]+([\w+/=.~-]{2,}[\w+/=~-])`), is: isBearer},
	{part: "asic", re: match(`\b[Bb]asic[ \t]+([\w+/]{4,}={0,2})`), is: isBasic},
	{query: true, part: "=", re: match(`(?:^|[?&])([^\s=&?#/:;"'<>]+)=([^\s&#"'<>)\\\[\]{}]*[^\s&#"'<>)\\\[\]{}.,;])`), is: notPlain},
	{part: "=", re: match(`([\pL\pN_.-]+)=["']?([^\s&,;"'<>()\[\]{}|\\=][^\s&,;"'<>()\[\]{}|\\]*)`), is: notPlain},
	{part: ":", re: match(`([\pL\pN_.-]+)["'*\\\]]*[ \t]*:[ \t]*[\\"']*([^\s&,;:"'<>()\[\]{}|\\]{4,})`), is: hasDigit},
	{part: `"`, re: match(`["']([\pL\pN_. -]+)\\?["'][ \t]*:[ \t]*\\?["']([^"'\\\[\]{}]+)`), is: notPlain},
	{part: "</", re: match(`<(?:\w+:)?([\w.-]+)>\s*([^<\[\]\s][^<\[\]]*)</`), is: notPlain},
	{part: "", re: match(`\b((?:` + prefixed + `)(?:[\w+/=.-]*[\w+/=-])?)`), is: isKey},
}

// prefixed matches the beginnings of keys of well-known services.
const prefixed = `sk-[\w-]{16}|[srp]k_(?:live|test)_\w{10}|whsec_\w{14}|(?:A[KS]IA|ABIA|ACCA)[A-Z0-9]{16}|gh[pousr]_\w{32}|` +
	`github_pat_\w{20}|gl(?:pat|dt|rt|ptt)-[\w-]{16}|xox[abeoprs][.-][\w-]{14}|xapp-[\w-]{14}|AIza[\w-]{30}|ya29\.[\w-]{14}|` +
	`GOCSPX-[\w-]{14}|eyJ[\w-]{8,}\.[\w-]{2,}\.[\w-]+|SG\.[\w-]{16,}\.[\w-]{10}|key-[0-9a-f]{32}|SK[0-9a-f]{32}|(?:npm|hf|` +
	`shp(?:at|ss|ca|pa)|lin_api|glsa|glc|dckr_pat|gsk|figd|sgp|sbp|sk|sb_secret|sntrys|pscale_(?:tkn|pw)|do[opr]_v1|rubygems|r8|ntn)_\w{24}|` +
	`pypi-[\w-]{34}|sq0(?:atp|csp)-[\w-]{18}|EAAA\w{36}|hv[sb]\.[\w-]{20}|dapi[0-9a-f]{32}|(?:NRAK|PMAK|CFPAT|xai|pplx|nvapi|` +
	`tvly|xkeysib)-[\w-]{20}|ATATT3[\w-]{50}|AGE-SECRET-KEY-1[A-Z0-9]{34}|LTAI\w{16}|AKID\w{26}`

// longRE matches texts with a word as long as the shortest key.
var longRE = match(`[!-~]{18}`)

func match(expr string) *regexp.Regexp { return regexp.MustCompile(expr) }

// masked replaces the secrets in a text with the mark. query means that the text is the query of an address.
func masked(text []byte, query bool) []byte {
	for i := range forms {
		text = forms[i].masked(text, query)
	}
	return text
}

func (f *form) masked(text []byte, query bool) []byte {
	if !bytes.Contains(text, []byte(f.part)) || f.part == "" && !longRE.Match(text) {
		return text
	}
	var out []byte
	at := 0 // what follows is not in out
	for p := 0; p < len(text); {
		m := f.re.FindSubmatchIndex(text[p:])
		if m == nil {
			break
		}
		from, to := p+m[len(m)-2], p+m[len(m)-1]
		named := len(m) > 4
		value := text[from:to]
		found := string(value) != withheld && !isReference(value) && (f.is == nil || f.is(value))
		if found && named { // only the query of an address begins with a parameter
			n := nameOf(string(text[p+m[2]:p+m[3]]), f.query && (query || p+m[2] > 0))
			found = n.secret && !n.headers && !bytes.HasPrefix(text[to:], []byte("("))
		}
		switch {
		case found:
			out = append(append(out, text[at:from]...), withheld...)
			at, p = to, to
		case named:
			p = from // the value may be the name of another
		default:
			p = to
		}
	}
	if at == 0 {
		return text
	}
	return append(out, text[at:]...)
}

// isUser reports whether the part before the @ of an address is more than a placeholder.
func isUser(user []byte) bool {
	name, password, _ := bytes.Cut(user, []byte(":"))
	return string(user) != "git" && (!isReference(name) || !isReference(password))
}

// isKey reports whether a text is a key, and not words with hyphens.
func isKey(text []byte) bool { return bytes.ContainsAny(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") }

func hasDigit(text []byte) bool { return bytes.ContainsAny(text, "0123456789") }

// isBearer reports whether the text after Bearer is a token, and not a word.
func isBearer(text []byte) bool { return hasDigit(text) || len(text) >= 24 }

// isBasic reports whether the text after Basic is a user and a password.
func isBasic(text []byte) bool {
	plain, err := base64.StdEncoding.DecodeString(string(text))
	return err == nil && bytes.IndexByte(plain, ':') > 0
}

// notPlain reports whether a text is more than a type or a kind of authentication.
func notPlain(text []byte) bool { return !kindRE.MatchString(plainName(string(text))) }

// referenceRE matches texts that refer to a secret: {{token}}, ${TOKEN}, <token>.
var referenceRE = match(`^(?i:(?:Bearer|Basic|Token|ApiKey)\s+)?(?:\{\{\{?[\s\pL\pN_.|-]{1,80}\}?\}\}|\$\{[\pL\pN_.:-]{1,80}\}|` +
	`<[\pL\pN_ -]{1,60}>|\$[A-Z][A-Z0-9_]{2,60}|%[A-Z][A-Z0-9_]{2,60}%|\[?(?i:your)[_ -][A-Za-z_ -]{2,60}\]?|\*{3,}|[xX]{4,}|\.{3,}|…)$`)

// isReference reports whether a text refers to a secret without being one.
func isReference(text []byte) bool { return len(text) <= 120 && referenceRE.Match(text) }
