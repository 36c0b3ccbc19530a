package secret

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
)

// level is how strongly a name indicates a secret.
type level uint8

const (
	harmless level = iota
	suspect        // a value that looks random is a secret
	certain        // every value is a secret
)

// sense is what a name reveals about its value.
type sense struct {
	level   level
	why     string
	numbers bool // a number may be a secret as well
	kinds   bool // the value may name a kind of authentication
	address bool // an address whose query is withheld
	headers bool // an object of headers, by name
}

// Maximum size of a name that is checked, in bytes and in words.
const (
	longestName = 100
	mostWords   = 8
)

// isName reports whether a text may be the name of something.
func isName(text []byte) bool {
	return len(text) > 0 && len(text) <= longestName && !bytes.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-. :", r)
	})
}

// plainName returns a name in lower case without punctuation.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' || r == '.' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// senseIn returns the sense of the name of a member, or of a parameter of a query.
func senseIn(name string, query bool) sense {
	s := senseOf(name)
	if !query || s.level == certain {
		return s
	}
	words := split(name)
	switch plain := plainName(name); {
	case queried[plain], s.level == suspect && queried[words[len(words)-1]]:
		return sense{level: certain, why: "parameter " + name + " of a query"}
	case queriedRandom[plain]:
		return sense{level: suspect, why: "parameter " + name + " of a query"}
	}
	return s
}

// senseOf returns the sense of a name.
func senseOf(name string) (s sense) {
	if len(name) > longestName {
		return s
	}
	if word := foreignIn(name); word != "" {
		return sense{level: certain, why: "name with " + word, numbers: true}
	}
	words := split(name)
	if len(words) == 0 || len(words) > mostWords {
		return s
	}
	for i := range words {
		if of := at(words, i); of.level > s.level {
			s = of
		}
	}
	last := words[len(words)-1]
	switch {
	case strings.HasSuffix(last, "headers"):
		return sense{level: certain, why: "headers", headers: true}
	case isAddress(last) && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "webhook") }),
		last == "webhook", last == "webhooks":
		return sense{level: certain, why: "address of a webhook"}
	}
	s.address = slices.ContainsFunc(words, isAddress)
	return s
}

// foreignIn returns a word of another script in a name.
func foreignIn(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r > unicode.MaxLatin1 }) >= 0 {
		for _, word := range foreign {
			if strings.Contains(name, word) {
				return word
			}
		}
	}
	return ""
}

func isAddress(word string) bool {
	return word != "curl" && (strings.HasSuffix(word, "url") || strings.HasSuffix(word, "urls") || word == "uri" || word == "uris")
}

// at returns the sense of the word at a place, given the words before and after it.
func at(words []string, i int) sense {
	word, before := words[i], ""
	for _, w := range slices.Backward(words[:i]) {
		if !isNumber(w) {
			before = w
			break
		}
	}
	s := sense{level: noun(word, before, len(words)), numbers: digits[word], kinds: authentic[word]}
	if s.level == harmless {
		return s
	}
	s.why = "name with " + word
	if (word == "key" || word == "keys" || word == "code" || word == "codes" || word == "pass" || word == "id") && before != "" {
		s.why = "name with " + before + " " + word
	}
	for _, w := range words[i+1:] {
		switch {
		case isNumber(w), carrying[w], len(w) == 1, s.numbers && numbering[w], authentic[word] && heading[w]:
		case word == "secret" && w == "id":
		case describing[w], word == "key" || word == "keys" || word == "code":
			return sense{}
		case hints[word]:
			return sense{}
		case !sure[word] || heading[w]:
			s.level = min(s.level, suspect)
		}
	}
	if s.level == certain && i > 0 && asking[words[0]] {
		s.level, s.numbers = suspect, false
	}
	return s
}

// noun returns the level of a word, given the word before it and the number of words in the name.
func noun(word, before string, of int) level {
	switch word {
	case "key", "keys":
		switch {
		case keyed[before]:
			return certain
		case unkeyed[before]:
			return harmless
		}
		return suspect
	case "code", "codes":
		if coded[before] {
			return certain
		}
		return harmless
	case "id":
		if before == "session" {
			return certain
		}
		return harmless
	case "pass":
		if of == 1 || passing[before] {
			return certain
		}
		return harmless
	case "token", "tokens":
		if counted[before] {
			return suspect
		}
	case "pin":
		if wired[before] {
			return harmless
		}
	case "string", "str", "dsn":
		if before == "connection" || before == "conn" || word == "dsn" {
			return suspect
		}
	case "answer", "answers":
		if before == "security" || before == "secret" {
			return certain
		}
	case "phrase":
		if before == "seed" || before == "recovery" {
			return certain
		}
	}
	switch {
	case sure[word], nouns[word]:
		return certain
	case hints[word]:
		return suspect
	}
	return harmless
}

func isNumber(word string) bool { return word[0] >= '0' && word[0] <= '9' }

// split returns the words of a name in lower case. They end at punctuation, at digits, and where
// lower case changes to upper case. Compounds are split if one part is a known noun: apikey,
// dbpassword.
func split(name string) (words []string) {
	runes := []rune(name)
	from := 0
	cut := func(to int) {
		if to > from {
			words = append(words, apart(strings.ToLower(string(runes[from:to])))...)
		}
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			cut(i)
			from = i + 1
		case i == from:
		case unicode.IsDigit(r) != unicode.IsDigit(runes[i-1]),
			unicode.IsUpper(r) && unicode.IsLower(runes[i-1]),
			unicode.IsUpper(r) && i+2 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsLower(runes[i+2]):
			cut(i)
			from = i
		}
	}
	cut(len(runes))
	return together(words)
}

// together joins single words that were written as two: passWord.
func together(words []string) []string {
	for i := 0; i+1 < len(words); i++ {
		if both := words[i] + words[i+1]; words[i] == "pass" && (sure[both] || sure[both+"s"]) {
			words = slices.Replace(words, i, i+2, both)
		}
	}
	return words
}

// Nouns that end or begin a compound.
var (
	endings = []string{"tokens", "token", "secrets", "secret", "passwords", "password", "passwd", "passphrase", "passcode",
		"credentials", "credential", "cookies", "cookie", "pwd", "jwt"}
	pairsOfWords = []struct {
		end    string
		before map[string]bool
	}{{"keys", keyed}, {"key", keyed}, {"code", coded}, {"pass", passing}, {"id", set("session")},
		{"auth", set("basic http proxy digest user api sip client web")}, {"header", set("auth authorization")},
		{"string", set("connection conn")}}
	beginnings = []string{"token", "secret", "password", "passwd", "credentials", "credential", "cookie", "auth", "pin", "otp"}
)

// apart splits a compound into its words.
func apart(word string) []string {
	if sure[word] || nouns[word] || hints[word] || describing[word] || len(word) < 5 {
		return []string{word}
	}
	for _, end := range endings {
		if rest, ok := strings.CutSuffix(word, end); ok && rest != "" {
			return append(apart(rest), end)
		}
	}
	if words := pairApart(word); words != nil {
		return words
	}
	for _, begin := range beginnings {
		if rest, ok := strings.CutPrefix(word, begin); ok && (describing[rest] || carrying[rest]) {
			return []string{begin, rest}
		}
	}
	for _, end := range []string{"id", "name", "type", "url", "count", "limit", "value"} {
		if rest, ok := strings.CutSuffix(word, end); ok && len(rest) > 4 {
			if words := apart(rest); len(words) > 1 {
				return append(words, end)
			}
		}
	}
	return []string{word}
}

// pairApart splits a compound that ends with two nouns, such as apikey and basicauth; nil if it
// does not.
func pairApart(word string) []string {
	for _, of := range pairsOfWords {
		rest, ok := strings.CutSuffix(word, of.end)
		if !ok {
			continue
		}
		longest := ""
		for before := range of.before {
			if strings.HasSuffix(rest, before) && len(before) > len(longest) && (before == rest || len(before) > 2) {
				longest = before
			}
		}
		switch longest {
		case "":
		case rest:
			return []string{longest, of.end}
		default:
			return []string{rest[:len(rest)-len(longest)], longest, of.end}
		}
	}
	return nil
}
