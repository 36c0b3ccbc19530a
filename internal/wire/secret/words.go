package secret

import "strings"

// set returns the words of a text.
func set(lists ...string) map[string]bool {
	out := map[string]bool{}
	for _, list := range lists {
		for _, word := range strings.Fields(list) {
			out[word] = true
		}
	}
	return out
}

// Nouns that indicate a secret.
var (
	// sure are certain secrets, whatever follows, unless that describes the secret.
	sure = set(`secret secrets password passwords passwd pwd pw passphrase passphrases passcode passcodes credential credentials cred
		creds privkey passwort kennwort contrasena contraseña senha mdp sessid jsessionid phpsessid htpasswd pgpass mnemonic
		psk`)
	// nouns name a secret by themselves, or with a following word that only carries it.
	nouns = set(`token tokens jwt jwts bearer cookie cookies auth authentication authorization authorisation oauth pin otp totp cvv cvc
		kubeconfig`)
	// hints name a secret only if the text looks random.
	hints = set(`signature sig hmac salt sas dsn ciphertext encrypted license licence session sid csrf xsrf nonce key keys pins
		certificate cert keystore`)
	// digits name secrets that may be numbers.
	digits = set(`pin otp totp cvv cvc password passwords passwd pwd pw passcode passcodes secret code codes psk`)
	// authentic are the nouns whose texts may be the kind of authentication, as in auth: bearer.
	authentic = set(`auth authentication authorization authorisation oauth bearer token jwt`)
)

// Words before a noun.
var (
	// keyed make a key a secret: apiKey, signing_key.
	keyed = set(`api access private secret signing sign signature encryption encrypt decryption decrypt master license licence auth
		authentication authorization client service shared server app application subscription hmac ssh pgp gpg rsa dsa ecdsa
		aes des deploy session webhook jwt jwk consumer storage security symmetric host admin root account product activation
		serial token password cipher crypto csrf cookie ssl tls sas registration provisioning functions function integration
		ingest write read unseal recovery passkey wrapping publishable merchant partner vendor developer dev bot openai
		anthropic stripe twilio aws azure gcp google sendgrid slack github datadog sentry elevenlabs deepgram`)
	// unkeyed make it harmless: primary_key, dtmfTerminationKey.
	unkeyed = set(`primary foreign sort partition partitioning cache file files object image images index idempotency lookup row column
		group message translation locale i18n dictionary json config field metric routing correlation dedup deduplication
		dedupe anchor press arrow enter pound star termination terminator short shortcut hot public unique composite natural
		surrogate candidate cluster clustering distribution s dtmf keypad answer label event order`)
	// coded make a code a secret.
	coded = set(`pin otp totp auth authorization verification security access mfa fa recovery backup activation unlock pass`)
	// passing make the word pass a password.
	passing = set(`db database user smtp ftp sftp admin root mysql pg postgres login http proxy sip imap redis mongo mongodb rabbitmq my`)
	// counted make tokens those of a language model or of a style.
	counted = set(`max min stop special total prompt completion output input reasoning thinking cached cache eos bos pad unk mask sep cls
		start end num n limit design used remaining image audio text context per budget allowed first last`)
	// wired make a pin part of a circuit or a map.
	wired = set(`gpio led map drop location digital analog input output clock data chip push bowling connector pull`)
	// asking make a name a question, whose answer is not a secret.
	asking = set(`is has have needs need requires require required use uses using with without no enable enabled disable disabled allow
		allows supports show hide ask asks should can must forgot skip`)
)

// Words after a noun.
var (
	// carrying mean that the value is the secret: token_value, password_hash.
	carrying = set(`value values val vals raw plain plaintext clear cleartext text string str data current new old next previous prev
		primary secondary default prod production dev development test testing live sandbox staging env hash hashed digest
		salt encrypted enc encoded base b64 base64 hex pem json body content blob material override main backup`)
	// describing mean that the value only describes the secret.
	describing = set(`count counts counter limit limits usage used budget budgets total totals length len size sizes min max minimum maximum
		threshold rate price prices cost costs type types kind kinds mode modes method methods scheme schemes style strategy
		policy policies name names label labels title description desc help hint hints note notes url urls uri uris endpoint
		endpoints host path domain location placement position in field fields column columns param params parameter
		parameters prefix suffix format formats pattern regex rule rules schema template expiry expires expire expired
		expiration exp ttl lifetime age timeout duration period interval at on date time timestamp created updated rotated
		rotation revoked issued version revision status state enabled disabled required optional present set exists valid
		verified invalid allowed supported configured prompt prompts message messages question questions screen page form step
		steps flow reset change link button banner consent notice preferences preference settings setting config configuration
		options option provider providers manager service store vault issuer audience aud scope scopes grant owner user users
		username email account id ids index algorithm alg strength attempts retries tries encoding bucket buckets ring holder
		source ref reference arn level levels language window less free based protected points per remaining consumed second
		seconds minute minutes ms number_of error errors failure failed success result results response request requests
		samesite secure httponly handler`)
	// numbering make the value a pin: pin_number.
	numbering = set(`number num no code codes`)
	// heading make the value an authorization: auth_header.
	heading = set(`header headers`)
)

// Members of JSON Schema and similar definitions, in plain spelling.
var (
	// propertiesOf hold definitions by the names of the properties.
	propertiesOf = set(`properties patternproperties definitions $defs defs dependentschemas schemas`)
	// keywords describe a property. Their texts are not its values.
	keywords = set(`$ref $id $schema $comment comment additionalproperties required minlength maxlength minimum maximum pattern nullable
		isnullable deprecated readonly writeonly inputtype widget multiline validation validators errormessage contenttype
		contentencoding contentmediatype discriminator tooltip help info displayname order group category visible hidden
		sensitive advanced dependson icon`)
	// structural members accompany a secret without being one: {"auth": {"type": "bearer", …}}.
	structural = set(`type types kind scheme mode method in location placement format alg algorithm encoding realm style title description
		help hint required optional enabled expiresat expiresin expiry createdat updatedat scope scopes granttype region`)
	// combines hold further definitions of the same property.
	combines = set(`items prefixitems contains anyof oneof allof not if then else`)
	// values hold the value of a property or of a pair.
	values = set(`value values val default defaultvalue defaults example examples sample const enum enumvalues enumoptions initialvalue
		currentvalue stringvalue valuestring placeholdervalue constantvalue fixedvalue staticvalue`)
	// naming hold the name of a pair's value.
	naming = set(`name key header headername field fieldname param parameter parametername paramname variable variablename attribute
		attributename property propertyname label keyname k type kind`)
	// queries hold the parameters of a query.
	queries = set(`query queryparams queryparameters queryparam queryparameter querystring qs urlparams urlparameters searchparams
		querystringparameters`)
	// queried are names of parameters that hold a secret in a query, but not necessarily elsewhere.
	queried = set(`key sig signature hmac sid session sessionid`)
	// queriedRandom are names of parameters that hold a secret if their value looks random.
	queriedRandom = set(`code appid k`)
)

// kindsOfAuth are texts that name a kind of authentication, in plain spelling.
var kindsOfAuth = set(`none basic bearer digest oauth oauth1 oauth2 oidc jwt apikey header query token hmac custom noauth public private
		password required optional inherit true false null string cookie ntlm negotiate kerberos saml mtls bearertoken
		basicauth accesstoken clientcredentials authorizationcode apikeyauth bearerauth disabled enabled auto default yes no
		http iam sso anonymous session serviceaccount`)

// trivial are words that follow a name in prose or code, and are not secrets.
var trivial = set(`true false null nil none undefined string str text number int integer boolean bool required optional empty default
		value any yes no on off token tokens password passwords secret secrets key keys bearer basic auth authentication
		authorization xxx xxxx`)

// foreign are words in other scripts. They are found anywhere in a name.
var foreign = []string{"비밀번호", "패스워드", "암호", "토큰", "인증키", "비밀키", "시크릿",
	"パスワード", "密码", "口令", "пароль"}
