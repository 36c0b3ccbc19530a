package secret

import (
	"bytes"
	"regexp"
	"strings"
)

// form is how the keys of a service look: what they begin with, and how long they are at least.
// What follows are letters, digits, hyphens and underscores, and dots if it has any.
type form struct {
	prefix string
	least  int  // in all
	dots   int  // at least
	hex    bool // nothing but hexadecimal digits behind the prefix
}

// forms are the keys of well-known services, as their documentation describes them.
var forms = []form{
	{prefix: "sk-", least: 20}, {prefix: "sk_live_", least: 18}, {prefix: "sk_test_", least: 18}, {prefix: "rk_live_", least: 18},
	{prefix: "rk_test_", least: 18}, {prefix: "sk_", least: 35}, {prefix: "whsec_", least: 20}, {prefix: "pk_live_", least: 18},
	{prefix: "AKIA", least: 20}, {prefix: "ASIA", least: 20}, {prefix: "ABIA", least: 20}, {prefix: "ACCA", least: 20},
	{prefix: "ghp_", least: 36}, {prefix: "gho_", least: 36}, {prefix: "ghu_", least: 36}, {prefix: "ghs_", least: 36}, {prefix: "ghr_", least: 36},
	{prefix: "github_pat_", least: 30}, {prefix: "glpat-", least: 20}, {prefix: "gldt-", least: 20}, {prefix: "glrt-", least: 20}, {prefix: "glptt-", least: 30},
	{prefix: "xoxb-", least: 20}, {prefix: "xoxp-", least: 20}, {prefix: "xoxa-", least: 20}, {prefix: "xoxe-", least: 20}, {prefix: "xoxr-", least: 20},
	{prefix: "xoxs-", least: 20}, {prefix: "xoxo-", least: 20}, {prefix: "xapp-", least: 20}, {prefix: "xoxe.", least: 20, dots: 1},
	{prefix: "AIza", least: 35}, {prefix: "ya29.", least: 20, dots: 1}, {prefix: "GOCSPX-", least: 20}, {prefix: "eyJ", least: 30, dots: 2},
	{prefix: "SG.", least: 30, dots: 2}, {prefix: "key-", least: 36, hex: true}, {prefix: "SK", least: 34, hex: true}, {prefix: "npm_", least: 30},
	{prefix: "pypi-", least: 40}, {prefix: "rubygems_", least: 40}, {prefix: "dop_v1_", least: 40}, {prefix: "doo_v1_", least: 40}, {prefix: "dor_v1_", least: 40},
	{prefix: "hf_", least: 30}, {prefix: "shpat_", least: 30}, {prefix: "shpss_", least: 30}, {prefix: "shpca_", least: 30}, {prefix: "shppa_", least: 30},
	{prefix: "sq0atp-", least: 25}, {prefix: "sq0csp-", least: 25}, {prefix: "EAAA", least: 40}, {prefix: "lin_api_", least: 30}, {prefix: "ntn_", least: 40},
	{prefix: "secret_", least: 40}, {prefix: "r8_", least: 35}, {prefix: "gsk_", least: 30}, {prefix: "xai-", least: 30}, {prefix: "pplx-", least: 30},
	{prefix: "AGE-SECRET-KEY-1", least: 50}, {prefix: "hvs.", least: 25, dots: 1}, {prefix: "hvb.", least: 25, dots: 1}, {prefix: "dapi", least: 36, hex: true},
	{prefix: "glsa_", least: 30}, {prefix: "glc_", least: 30}, {prefix: "NRAK-", least: 30}, {prefix: "PMAK-", least: 40}, {prefix: "dckr_pat_", least: 30},
	{prefix: "ATATT3", least: 60}, {prefix: "figd_", least: 30}, {prefix: "dp.pt.", least: 40, dots: 2}, {prefix: "dp.st.", least: 40, dots: 2},
	{prefix: "pscale_tkn_", least: 30}, {prefix: "pscale_pw_", least: 30}, {prefix: "sbp_", least: 40}, {prefix: "sb_secret_", least: 25}, {prefix: "sntrys_", least: 30},
	{prefix: "re_", least: 32}, {prefix: "tfp_", least: 40}, {prefix: "fo1_", least: 40}, {prefix: "FlyV1", least: 40}, {prefix: "CFPAT-", least: 40},
	{prefix: "ops_eyJ", least: 60}, {prefix: "pat-na1-", least: 36}, {prefix: "pat-eu1-", least: 36}, {prefix: "frp_", least: 30}, {prefix: "xkeysib-", least: 40},
	{prefix: "sgp_", least: 40}, {prefix: "tvly-", least: 24}, {prefix: "fc-", least: 35, hex: true}, {prefix: "nvapi-", least: 40}, {prefix: "sl.", least: 100, dots: 1},
	{prefix: "EZAK", least: 50}, {prefix: "EZTK", least: 50}, {prefix: "LTAI", least: 20}, {prefix: "AKID", least: 30}, {prefix: "patch_", least: 60},
	{prefix: "oy2", least: 46}, {prefix: "ico-", least: 36}, {prefix: "shippo_live_", least: 40}, {prefix: "shippo_test_", least: 40}, {prefix: "duffel_", least: 40},
	{prefix: "ntfy_", least: 30}, {prefix: "A3-", least: 30}, {prefix: "cal_live_", least: 25}, {prefix: "phc_", least: 40}, {prefix: "phx_", least: 40},
}

// byFirst are the forms by the first byte of their prefix.
var byFirst = func() (out [256][]form) {
	for _, f := range forms {
		out[f.prefix[0]] = append(out[f.prefix[0]], f)
	}
	return out
}()

// shortestForm is the length of the shortest key of any form.
const shortestForm = 18

// formats looks at each long run of letters and digits: whether it has the form of a key.
func (r *reader) formats() {
	for p := 0; p < len(r.text); {
		if !inKey(r.text[p]) {
			p++
			continue
		}
		from := p
		for p < len(r.text) && inKey(r.text[p]) {
			p++
		}
		if to := trimmed(r.text, from, p, false); to-from >= shortestForm {
			r.run(from, to)
		}
	}
}

// run looks at a run: a key may begin behind punctuation in it.
func (r *reader) run(from, to int) {
	for at := from; to-at >= shortestForm; at++ {
		if at > from && isWordByte(r.text[at-1]) {
			continue
		}
		for _, f := range byFirst[r.text[at]] {
			if f.is(r.text[at:to]) {
				for to < len(r.text) && inBase64(r.text[to]) {
					to++
				}
				r.add(at, to, "form of a key ("+f.prefix+"…)")
				return
			}
		}
	}
}

// is reports whether a run begins with a key of a form.
func (f form) is(text []byte) bool {
	if len(text) < f.least || !bytes.HasPrefix(text, []byte(f.prefix)) {
		return false
	}
	rest := text[len(f.prefix):]
	if f.hex {
		for _, c := range rest {
			if !strings.ContainsRune("0123456789abcdef", rune(c)) {
				return false
			}
		}
		return true
	}
	if bytes.Count(text, []byte(".")) < f.dots {
		return false
	}
	return classes(rest) > 1
}

func inKey(c byte) bool { return isWordByte(c) || c == '-' || c == '_' || c == '.' }

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func inBase64(c byte) bool { return isWordByte(c) || strings.IndexByte("+/=-_", c) >= 0 }

// classes counts the kinds of letters and digits in a text: small, capital, digits.
func classes(text []byte) int {
	var small, capital, digit int
	for _, c := range text {
		switch {
		case c >= 'a' && c <= 'z':
			small = 1
		case c >= 'A' && c <= 'Z':
			capital = 1
		case c >= '0' && c <= '9':
			digit = 1
		}
	}
	return small + capital + digit
}

var (
	// referenceRE are texts that say where a secret comes from: {{token}}, ${TOKEN}, <token>.
	referenceRE = regexp.MustCompile(`^(?i:(?:Bearer|Basic|Token|ApiKey)\s+)?(?:\{\{\{?[\s\pL\pN_.|-]{1,80}\}?\}\}|\$\{[\pL\pN_.:-]{1,80}\}|` +
		`<[\pL\pN_ -]{1,60}>|\$[A-Z][A-Z0-9_]{2,60}|%[A-Z][A-Z0-9_]{2,60}%|\[?(?i:your)[_ -][A-Za-z_ -]{2,60}\]?|\*{3,}|[xX]{4,}|\.{3,}|…)$`)
	uuidRE = regexp.MustCompile(`^(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

// isReference reports whether a text stands for a secret without being it.
func isReference(text []byte) bool {
	if len(text) > 120 || len(text) == 0 {
		return false
	}
	switch text[0] {
	case '{', '$', '<', '%', '[', '*', 'x', 'X', '.', 'y', 'Y', 'b', 'B', 't', 'T', 'a', 'A', "…"[0]:
		return referenceRE.Match(text)
	}
	return false
}

// allReferences reports whether a user and a password are both references.
func allReferences(user []byte) bool {
	a, b, ok := bytes.Cut(user, []byte(":"))
	return ok && isReference(a) && isReference(b)
}

// longestRandom is how long a text may be that one looks at whether it is random.
const longestRandom = 4096

// random reports whether a text looks as if a machine had drawn it: long, without spaces, and
// with letters and digits that take turns.
func random(text []byte) bool {
	if len(text) < 12 || len(text) > longestRandom || uuidRE.Match(text) || bytes.Contains(text, []byte(Mark)) {
		return false
	}
	var turns, letters, figures, run, longest int
	last := byte(0)
	for _, c := range text {
		is := byte(0)
		switch {
		case c >= 'a' && c <= 'z':
			is = 'a'
		case c >= 'A' && c <= 'Z':
			is = 'A'
		case c >= '0' && c <= '9':
			is = '0'
		case c <= ' ' || c >= 0x7f:
			return false
		}
		switch is {
		case 'a', 'A':
			letters++
		case '0':
			figures++
		}
		if run++; is == 0 {
			run = 0
		}
		if longest = max(longest, run); last != 0 && is != 0 && is != last {
			turns++
		}
		last = is
	}
	return letters > 0 && figures > 0 && longest >= 10 && turns >= 4
}

// mixed reports whether a text is a word that nobody speaks: one with letters and digits.
func mixed(text []byte) bool {
	if len(text) < 6 || len(text) > longestRandom || bytes.Contains(text, []byte("://")) || bytes.IndexByte(text, ' ') >= 0 ||
		bytes.Contains(text, []byte(Mark)) {
		return false
	}
	letters, figures := 0, 0
	for _, c := range text {
		if isWordByte(c) {
			if c <= '9' {
				figures++
			} else {
				letters++
			}
		}
	}
	return letters > 0 && figures > 0 || len(text) >= 20 && classes(text) == 2 && bytes.IndexByte(text, '.') < 0 && letters == len(text) && turnsOf(text) > 5
}

// turnsOf counts where small letters and capitals take turns.
func turnsOf(text []byte) (n int) {
	for i := 1; i < len(text); i++ {
		if (text[i] >= 'a') != (text[i-1] >= 'a') {
			n++
		}
	}
	return n
}

// isPIN reports whether a text is a short number.
func isPIN(text []byte) bool {
	return len(text) >= 4 && len(text) <= 12 && isAmount(text) && bytes.IndexByte(text, '.') < 0
}

// isAmount reports whether a text is a number.
func isAmount(text []byte) bool {
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' {
			return false
		}
	}
	return len(text) > 0
}
