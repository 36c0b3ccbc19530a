package secret

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// form describes the keys of a service by prefix and minimum length. The rest is letters, digits,
// hyphens and underscores, and dots if it must have any.
type form struct {
	prefix string
	least  int  // minimum length in all
	dots   int  // minimum number of dots
	hex    bool // only hexadecimal digits after the prefix
}

// known are the forms of keys of well-known services, as their documentation describes them:
// prefix, minimum length, and dots or hexadecimal digits.
const known = `
	sk-:20 sk_live_:18 sk_test_:18 rk_live_:18 rk_test_:18 sk_:35 whsec_:20 pk_live_:18 AKIA:20 ASIA:20 ABIA:20 ACCA:20 ghp_:36
	gho_:36 ghu_:36 ghs_:36 ghr_:36 github_pat_:30 glpat-:20 gldt-:20 glrt-:20 glptt-:30 xoxb-:20 xoxp-:20 xoxa-:20 xoxe-:20 xoxr-:20
	xoxs-:20 xoxo-:20 xapp-:20 xoxe.:20:dots1 AIza:35 ya29.:20:dots1 GOCSPX-:20 eyJ:30:dots2 SG.:30:dots2 key-:36:hex SK:34:hex
	npm_:30 pypi-:40 rubygems_:40 dop_v1_:40 doo_v1_:40 dor_v1_:40 hf_:30 shpat_:30 shpss_:30 shpca_:30 shppa_:30 sq0atp-:25
	sq0csp-:25 EAAA:40 lin_api_:30 ntn_:40 secret_:40 r8_:35 gsk_:30 xai-:30 pplx-:30 AGE-SECRET-KEY-1:50 hvs.:25:dots1 hvb.:25:dots1
	dapi:36:hex glsa_:30 glc_:30 NRAK-:30 PMAK-:40 dckr_pat_:30 ATATT3:60 figd_:30 dp.pt.:40:dots2 dp.st.:40:dots2 pscale_tkn_:30
	pscale_pw_:30 sbp_:40 sb_secret_:25 sntrys_:30 re_:32 tfp_:40 fo1_:40 FlyV1:40 CFPAT-:40 ops_eyJ:60 pat-na1-:36 pat-eu1-:36
	frp_:30 xkeysib-:40 sgp_:40 tvly-:24 fc-:35:hex nvapi-:40 sl.:100:dots1 EZAK:50 EZTK:50 LTAI:20 AKID:30 patch_:60 oy2:46 ico-:36
	shippo_live_:40 shippo_test_:40 duffel_:40 ntfy_:30 A3-:30 cal_live_:25 phc_:40 phx_:40
`

// forms parses the table.
func forms() (out []form) {
	for _, text := range strings.Fields(known) {
		parts := strings.Split(text, ":")
		f := form{prefix: parts[0]}
		f.least, _ = strconv.Atoi(parts[1]) // a test checks the table
		for _, more := range parts[2:] {
			f.hex = f.hex || more == "hex"
			f.dots, _ = strconv.Atoi(strings.TrimPrefix(more, "dots")) // 0 for hex
		}
		out = append(out, f)
	}
	return out
}

// byFirst are the forms by the first byte of their prefix.
var byFirst = func() (out [256][]form) {
	for _, f := range forms() {
		out[f.prefix[0]] = append(out[f.prefix[0]], f)
	}
	return out
}()

// shortestForm is the length of the shortest key of any form.
const shortestForm = 18

// formats checks whether each long run of letters and digits has the form of a key.
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

// run checks one run. A key may begin after punctuation inside it.
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
	// referenceRE matches texts that refer to a secret: {{token}}, ${TOKEN}, <token>.
	referenceRE = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?i:(?:Bearer|Basic|Token|ApiKey)\s+)?(?:\{\{\{?[\s\pL\pN_.|-]{1,80}\}?\}\}|\$\{[\pL\pN_.:-]{1,80}\}|` +
			`<[\pL\pN_ -]{1,60}>|\$[A-Z][A-Z0-9_]{2,60}|%[A-Z][A-Z0-9_]{2,60}%|\[?(?i:your)[_ -][A-Za-z_ -]{2,60}\]?|\*{3,}|[xX]{4,}|\.{3,}|…)$`)
	})
	uuidRE = regexp.MustCompile(`^(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

// isReference reports whether a text refers to a secret without being one.
func isReference(text []byte) bool {
	if len(text) > 120 || len(text) == 0 {
		return false
	}
	switch text[0] {
	case '{', '$', '<', '%', '[', '*', 'x', 'X', '.', 'y', 'Y', 'b', 'B', 't', 'T', 'a', 'A', "…"[0]:
		return referenceRE().Match(text)
	}
	return false
}

// allReferences reports whether both a user and a password are references.
func allReferences(user []byte) bool {
	a, b, ok := bytes.Cut(user, []byte(":"))
	return ok && isReference(a) && isReference(b)
}

// longestRandom is the maximum length of a text that is checked for randomness.
const longestRandom = 4096

// random reports whether a text looks randomly generated: long, without spaces, and with
// alternating letters and digits.
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

// mixed reports whether a text mixes letters and digits, as no spoken word does.
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
	return letters > 0 && figures > 0 || len(text) >= 20 && letters == len(text) && turnsOf(text) > 5
}

// turnsOf counts the changes between small letters and capitals.
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
