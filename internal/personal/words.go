package personal

import "strings"

// bits is a set of kinds, and of other meanings that words give numbers near them.
type bits uint32

const (
	cardBit bits = 1 << iota // in the order of kinds.All
	rrnBit
	passportBit
	licenceBit
	businessBit
	ssnBit
	ibanBit
	phoneBit
	emailBit
	ipBit
	dobBit
	accountBit
	numberBit  // "number": of a phone, unless other words are nearby
	otherBit   // a number that is not personal data: of an order, a room
	versionBit // of software: with dots, like an IP address
)

// what classifies a word.
type what uint8

const (
	digitWord what = iota + 1
	tensWord
	hundredWord
	thousandWord
	repeatWord
	fillerWord // may be said in the middle of a number
	ackWord    // acknowledges; may also be said in the middle of a number
	dashWord
	dotWord
	slashWord
	plusWord
	unitWord // after an amount
	contextWord
)

type entry struct {
	what   what
	digits string
	loose  bool // often has another meaning
	bits   bits
}

// longestEnglish is the length of the longest relevant English word.
const longestEnglish = 12

var englishWords = func() map[string]*entry {
	out := map[string]*entry{}
	add := func(e entry, words string) {
		for _, w := range strings.Fields(words) {
			out[w] = &e
		}
	}
	for i, w := range strings.Fields("zero one two three four five six seven eight nine") {
		add(entry{what: digitWord, digits: string(rune('0' + i)), loose: i == 1}, w)
	}
	add(entry{what: digitWord, digits: "0", loose: true}, "oh o")
	add(entry{what: digitWord, digits: "0"}, "nought naught")
	add(entry{what: digitWord, digits: "9"}, "niner")
	for i, w := range strings.Fields("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen") {
		add(entry{what: digitWord, digits: "1" + string(rune('0'+i))}, w)
	}
	for i, w := range strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety") {
		add(entry{what: tensWord, digits: string(rune('2'+i)) + "0"}, w)
	}
	add(entry{what: hundredWord}, "hundred")
	add(entry{what: thousandWord}, "thousand")
	add(entry{what: repeatWord, digits: "2"}, "double")
	add(entry{what: repeatWord, digits: "3"}, "triple treble")
	add(entry{what: fillerWord}, "uh uhm um umm er erm ah hmm hm mm well like and then so area code extension sorry wait")
	add(entry{what: ackWord}, "yes yeah yep yup ok okay right sure alright good great perfect thanks go on ahead continue next got it "+
		"i see mhm aha huh please thank you correct all keep going perfect fine exactly")
	add(entry{what: dashWord}, "dash hyphen minus")
	add(entry{what: dotWord}, "dot point period")
	add(entry{what: slashWord}, "slash")
	add(entry{what: plusWord}, "plus")
	add(entry{what: unitWord}, "dollar dollars won euro euros pounds cents percent minutes hours days weeks months years people "+
		"million billion pm am kilometers miles points degrees kilos")
	for b, words := range map[bits]string{
		phoneBit:             "phone telephone cell cellphone mobile dial callback fax tel whatsapp call reach contact",
		numberBit:            "number numbers",
		cardBit:              "card visa mastercard amex credit debit",
		rrnBit:               "resident rrn alien foreigner",
		rrnBit | businessBit: "registration",
		passportBit:          "passport",
		licenceBit:           "license licence driver drivers driving",
		businessBit:          "business brn vat",
		ssnBit:               "ssn social",
		ibanBit:              "iban",
		emailBit:             "email emails mail",
		dobBit:               "born birth birthday birthdate dob",
		accountBit:           "account acct bank savings checking deposit",
		otherBit: "order orders tracking invoice amount total price reference ref booking reservation confirmation ticket serial " +
			"model part sku item code coupon flight room customer policy zip score points parcel shipment purchase meter product " +
			"transaction balance quantity member membership batch lot receipt claim contract id",
		versionBit: "version ver release firmware build v",
	} {
		add(entry{what: contextWord, bits: b}, words)
	}
	return out
}()

// english returns the entry of an English word; nil if it is irrelevant.
func english(word string) *entry {
	var lower [longestEnglish]byte
	if len(word) > len(lower) {
		return nil
	}
	for i := range len(word) {
		lower[i] = word[i] | 0x20
	}
	return englishWords[string(lower[:len(word)])]
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isAlnum(c byte) bool  { return isLetter(c) || isDigit(c) }

func wordEnd(text string, at int) int {
	for at < len(text) && isLetter(text[at]) {
		at++
	}
	return at
}

// koDigit returns the digit at the beginning of a Korean word, and its length in bytes; 0 if there
// is none.
func koDigit(s string) (d byte, n int) {
	if len(s) < 3 {
		return 0, 0
	}
	if len(s) >= 6 {
		switch s[:6] {
		case "하나":
			return '1', 6
		case "다섯":
			return '5', 6
		case "여섯":
			return '6', 6
		case "일곱":
			return '7', 6
		case "여덟", "여덜":
			return '8', 6
		case "아홉":
			return '9', 6
		case "제로":
			return '0', 6
		}
	}
	switch s[:3] {
	case "영", "공", "빵":
		return '0', 3
	case "일":
		return '1', 3
	case "이", "둘":
		return '2', 3
	case "삼", "셋":
		return '3', 3
	case "사", "넷":
		return '4', 3
	case "오":
		return '5', 3
	case "육", "륙":
		return '6', 3
	case "칠":
		return '7', 3
	case "팔":
		return '8', 3
	case "구":
		return '9', 3
	}
	return 0, 0
}

// koNumber returns the value of the Korean number with 십, 백 or 천 at the beginning of a word, and
// its length in bytes; 0 if there is none.
func koNumber(s string) (value, n int) {
	last := 10000
	for n < len(s) {
		rest := s[n:]
		d, k := 1, 0
		if c, size := koDigit(rest); size == 3 && c != '0' {
			d, k = int(c-'0'), 3
		}
		unit := 0
		if len(rest) >= k+3 {
			switch rest[k : k+3] {
			case "십":
				unit = 10
			case "백":
				unit = 100
			case "천":
				unit = 1000
			}
		}
		if unit == 0 || unit >= last {
			if k > 0 && last < 10000 && unit == 0 {
				return value + d, n + k
			}
			break
		}
		value, n, last = value+d*unit, n+k+3, unit
	}
	return value, n
}

// koSuffix are the endings that may follow a number within a word.
var koSuffix = func() map[string]what {
	out := map[string]what{}
	for w, words := range map[what]string{
		fillerWord: "에 에요 예요 이에요 이예요 입니다 이요 요 이고 이고요 고 고요 이구요 구요 번 번이요 번이에요 번입니다 번에 번으로 으로 로 은 는 이 가 을 를 " +
			"의 하고 이랑 랑 국 국에 국의 네요 이네요 인데 인데요 이거든요 거든요 이라고 라고 라고요 이라고요 이죠 죠 이지요 지요 입니당 이야 야 이며 며 " +
			"번이고요 번이고 맞아요 맞습니다 맞나요 이신가요 이시고요 이시죠 님 까지 까지요 그리고 다음 다음에 다음은 이었어요 이었습니다 였습니다",
		dashWord: "다시 대시 하이픈 에다시",
		dotWord:  "점 쩜 닷",
		unitWord: "원 만원 천원 년 월 시 분 초 개 명 호 층 살 세 번째 차 회 동 퍼센트 프로 만 억 시간 분간 일 월에 년에 시에 분에 호에 층에 원을 원이 원이요 원입니다 " +
			"원이에요 개월 킬로 미터 포인트 점이에요 호실 호입니다 호예요 층이에요 시요 시에요 분이요 분에요 명이요 명이에요 개요 일에 일이에요 살이에요 달러 불 박 인분 장 잔 번지 평 도 배",
	} {
		for _, word := range strings.Fields(words) {
			out[word] = w
		}
	}
	return out
}()

// koWords are Korean words that are relevant as a whole.
var koWords = func() map[string]*entry {
	out := map[string]*entry{}
	for w, words := range map[what]string{
		fillerWord: "어 음 그 저 아 에 으음 그리고 그다음 그다음에 그다음은 다음 다음에 다음은 또 잠시만요 잠깐만요 이제 뭐지 뭐더라 그러니까 앞자리는 뒷자리는 뒷자리가 뒤에는 뒷번호는 앞에는 국에 국 번에 번 의 하고 그게 으",
		ackWord: "네 예 응 넵 넹 네네 예예 네에 맞아요 맞습니다 좋아요 말씀하세요 말씀해 주세요 주십시오 말씀해주세요 계속 계속하세요 계속이요 그다음은요 다음은요 뒷자리는요 뒷자리 뒷번호는요 " +
			"확인했습니다 알겠습니다 감사합니다 듣고 있습니다 있어요 네넵 아네 그렇군요 받아적었습니다 적었습니다 적고 뒤에는요 나머지는요 나머지 이어서 해주세요 오케이 천천히",
		dashWord:  "다시 대시 하이픈 짝대기 작대기 바",
		dotWord:   "점 쩜 닷 도트",
		slashWord: "슬래시 슬래쉬",
		plusWord:  "플러스",
		unitWord:  "원 만원 만 천원 달러 퍼센트 프로 개 명 호 층 시 분 번지 원이요 원입니다 원이에요",
	} {
		for _, word := range strings.Fields(words) {
			out[word] = &entry{what: w}
		}
	}
	return out
}()

// koContext are beginnings of Korean words that give numbers a meaning, by their first two
// syllables.
var koContext = func() map[string]bits {
	out := map[string]bits{}
	for b, words := range map[bits]string{
		phoneBit:            "전화 휴대 핸드 연락 폰번 모바 수신 발신 셀폰 휴대폰",
		numberBit:           "번호",
		cardBit:             "카드 신용 체크",
		rrnBit:              "주민 외국 민번",
		rrnBit | licenceBit: "등록",
		passportBit:         "여권",
		licenceBit:          "면허 운전",
		businessBit:         "사업",
		ssnBit:              "사회",
		emailBit:            "이메 메일 전자",
		dobBit:              "생년 생일 태어 출생 생신 생월",
		accountBit:          "계좌 통장 은행 입금 농협 신한 기업 토스 카뱅 우체 송금 이체 환불 국민 우리 새마 수협 산업",
		otherBit: "주문 송장 운송 택배 예약 접수 티켓 문의 상품 모델 금액 인증 쿠폰 고객 회원 가격 배송 결제 포인 점수 제품 객실 방번 우편 계약 " +
			"청구 요금 항공 편명 시리 일련 승인 영수 계량 검침 증권 보험 총액 합계 잔액 잔고 거래 코드",
		versionBit: "버전 펌웨 빌드 버젼",
	} {
		for _, word := range strings.Fields(words) {
			out[word[:6]] = b
		}
	}
	out["등록"] = rrnBit | businessBit
	return out
}()

// koRegion are the regions of Korean driving licences, by the first two syllables.
var koRegion = map[string]string{
	"서울": "11", "부산": "12", "경기": "13", "강원": "14", "충북": "15", "충남": "16", "전북": "17", "전남": "18", "경북": "19", "경남": "20",
	"제주": "21", "대구": "22", "인천": "23", "광주": "24", "대전": "25", "울산": "26",
}
