package resource

import (
	"strings"
	"sync"
)

// sense is what the name of a value reveals about it.
type sense struct {
	secret  bool
	numbers bool // a number may be a secret as well
	headers bool // an object of headers, by name
	address bool // an address whose query is withheld
}

// name is the name of a member, or of a parameter of a query.
type name struct {
	sense
	value, naming, plain, query bool // whether valueRE, namingRE, plainRE or queriesRE matches it
}

// The patterns match names in the form of wordsOf: access_token.
var (
	// secretRE matches names of secrets. Words may follow a noun if the value is still the secret: token_value, password_hash.
	secretRE = match(`(?:(` + digitNouns + `)|` + nouns + `|` + keys + `)(?:_(?:` + carrying + `))*$`)
	// describingRE matches names that only describe a secret or ask for it, or name something else.
	describingRE = match(`^(?:has|have|is|needs?|requires?|uses?|using|with|without|no|enabled?|disabled?|allows?|` +
		`supports?|show|hide|asks?|should|can|must|forgot|skip)_|(?:^|_)(?:gpio|led|map|drop|location|digital|analog|connector)_pin$|` +
		`(?:^|_)(?:max|min|stop|special|total|prompt|completion|(?:in|out)put|reasoning|thinking|cached?|eos|bos|pad|start|end|num|` +
		`limit|used|remaining|image|audio|context|budget|allowed)_tokens?$`)
	webhookRE = match(`(?:^|_)webhooks?(?:_(?:[a-z]+_)*[a-z]*ur[il]s?)?$`)
	addressRE = match(`(?:^|_)(?:[a-z]*url|uri)s?(?:_|$)`)
	// queryRE matches parameters that hold a secret in the query of an address, but not necessarily elsewhere.
	queryRE = match(`(?:^|_)(?:key|sig|signature|hmac|sid|session)$|^x_amz_credential$`)

	// The others match names in the form of plainName: valueRE the value of a pair or of a property, namingRE the name of a pair,
	// queriesRE the parameters of a query.
	valueRE = match(`^(?:(?:default|initial|current|string|static|fixed|constant)?values?|val|defaults?|examples?|` +
		`samples?|const|enum(?:values|options)?)$`)
	namingRE  = match(`^(?:name|key|k|type|kind|label|(?:header|field|param(?:eter)?|variable|attribute|property)(?:name)?)$`)
	queriesRE = match(`^(?:qs|query(?:string)?|(?:query(?:string)?|url|search)param(?:eter)?s?)$`)
	// plainRE matches members that describe the secret next to them, as in {"auth": {"type": "bearer", …}} and in JSON Schema.
	plainRE = match(`^(?:types?|kind|scheme|mode|method|in|location|placement|format|alg(?:orithm)?|encoding|realm|style|` +
		`title|description|comment|help|hint|info|tooltip|required|optional|enabled|(?:is)?nullable|deprecated|readonly|writeonly|` +
		`pattern|errormessage|displayname|order|group|category|expires(?:at|in)|expiry|createdat|updatedat|scopes?|granttype|region|` +
		`content(?:type|encoding|mediatype)|inputtype|\$(?:ref|id|schema|comment|defs))$`)
	// kindRE matches texts that name a type or a kind of authentication instead of being the secret.
	kindRE = match(`^(?:none|null|nil|undefined|true|false|yes|no|on|off|any|empty|default|auto|inherit|required|optional|` +
		`enabled|disabled|string|text|number|integer|int|boolean|bool|header|query|custom|anonymous|(?:no|basic|bearer|apikey|` +
		`digest)auth|basic|bearer(?:token)?|digest|oauth[12]?|oidc|jwt|apikey|hmac|ntlm|negotiate|kerberos|saml|mtls|iam|sso|session|` +
		`cookie|accesstoken|clientcredentials|authorizationcode|serviceaccount)$`)
)

const (
	// digitNouns name secrets that may be numbers.
	digitNouns = `pass_?words?|passwd|pwd|(?:^|_)(?:pw|psk|otp|totp|cvv|cvc)|pass_?codes?|secrets?|secret_id|(?:^|_)(?:user_?)?pin` +
		`(?:_?code)?(?:_number|_num|_no)?|(?:^|_)(?:pin|otp|totp|auth|authorization|verification|security|access|mfa|fa|recovery|backup|` +
		`activation|unlock)_?codes?|비밀번호|패스워드|암호|パスワード|密码|口令|пароль`
	nouns = `tokens?|jwts?|bearer|credentials?|cookies?|pass_?phrases?|(?:^|_)(?:creds?|privkey|kubeconfig|mnemonic|pgpass|senha|mdp)|` +
		`(?:^|_|basic_?|http_?|proxy_?|sip_?|digest_?)o?auth(?:_?headers?)?|authenti[cz]ation|authori[sz]ation(?:_?header)?|` +
		`(?:^|_)(?:j?session|phpsess|sess)_?id|^pass|(?:^|_)(?:db|database|user|s?ftp|smtp|imap|admin|root|mysql|pg|postgres|login|` +
		`http|proxy|sip|redis|mongo)_?pass|(?:seed|recovery)_phrase|(?:security|secret)_answers?|passwort|kennwort|contrase[nñ]a|` +
		`토큰|인증키|비밀키|시크릿`
	keys = `(?:api|access|secret|private)_?keys?|(?:^|_)(?:signing|sign|signature|(?:en|de)cryption|master|licen[cs]e|auth|` +
		`authentication|authorization|client|service|shared|server|app|application|subscription|hmac|ssh|pgp|gpg|rsa|aes|deploy|` +
		`session|webhook|consumer|storage|symmetric|host|admin|root|account|product|activation|crypto|function|integration|ingest|` +
		`write|recovery|merchant|partner|vendor|developer|dev|bot|(?:open_?)?ai|anthropic|stripe|twilio|aws|azure|gcp|google|` +
		`sendgrid|slack|github|datadog|sentry|deepgram)_?keys?`
	carrying = `values?|vals?|raw|plain|(?:plain|clear)?text|string|str|data|current|new|old|next|previous|primary|secondary|default|` +
		`prod|production|dev|test|live|sandbox|staging|confirmation|hash|hashed|salt|encrypted|encoded|base|b|hex|pem|json|body|main|backup`
)

var (
	camelRE   = match(`(\p{Ll})(\p{Lu})`)
	acronymRE = match(`(\p{Lu})(\p{Lu}\p{Ll}{2})`)
	betweenRE = match(`[^\p{L}$]+`)
)

// wordsOf returns a name in lower case with an underscore between its words, and without its digits: oauth2Token becomes
// oauth_token.
func wordsOf(text string) string {
	text = acronymRE.ReplaceAllString(camelRE.ReplaceAllString(text, "${1}_$2"), "${1}_$2")
	return strings.Trim(betweenRE.ReplaceAllString(strings.ToLower(text), "_"), "_")
}

var punctuation = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")

// plainName returns a name in lower case without punctuation.
func plainName(text string) string { return punctuation.Replace(strings.ToLower(text)) }

// longestName is the maximum length of a name that is checked, in bytes.
const longestName = 100

// known has names with their properties, and whether they are parameters of a query: many objects
// have the same names, and matching them anew took a seventh of the time of a night with an
// organisation. A service that invents names does not fill it without end.
var known = struct {
	sync.Mutex
	names map[nameKey]name
}{names: map[nameKey]name{}}

type nameKey struct {
	text  string
	query bool
}

const mostKnown = 10_000

// nameOf returns a name's properties. query means that it is a parameter of a query.
func nameOf(text string, query bool) name {
	if len(text) > longestName {
		return name{}
	}
	key := nameKey{text, query}
	known.Lock()
	defer known.Unlock()
	if n, ok := known.names[key]; ok {
		return n
	}
	plain := plainName(text)
	n := name{sense: senseOf(wordsOf(text), query), value: valueRE.MatchString(plain), naming: namingRE.MatchString(plain),
		plain: plainRE.MatchString(plain), query: queriesRE.MatchString(plain)}
	if len(known.names) < mostKnown {
		known.names[key] = n
	}
	return n
}

func senseOf(words string, query bool) sense {
	switch m := secretRE.FindStringSubmatchIndex(words); {
	case strings.HasSuffix(words, "headers"):
		return sense{secret: true, headers: true}
	case m != nil && !describingRE.MatchString(words):
		return sense{secret: true, numbers: m[2] >= 0}
	case webhookRE.MatchString(words), query && queryRE.MatchString(words):
		return sense{secret: true}
	}
	return sense{address: addressRE.MatchString(words) && words != "curl"}
}
