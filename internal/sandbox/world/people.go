package world

import (
	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/wire"
)

// customers is the number of people that the company knows; the same ones call again.
const customers = 4000

// CustomerName and CustomerPhone are how agents of a language know somebody.
func CustomerName(language string, customer int) string {
	return string(appendName(nil, language, customer))
}

// CustomerPhone returns a customer's number, in digits.
func CustomerPhone(language string, customer int) string {
	return string(appendPhone(nil, language, customer))
}

// CustomerNumber returns a customer's number in the company's records.
func CustomerNumber(customer int) string {
	return string(appendNumber(nil, customer))
}

func appendNumber(dst []byte, customer int) []byte {
	return wire.AppendPadded(append(dst, "C-"...), 100000+customer*37, 6)
}

var (
	firstNamesEN = [...]string{
		"Amelia", "Ben", "Carla", "Daniel", "Elena", "Felix", "Grace", "Hassan", "Irene", "Jonas",
		"Katya", "Liam", "Maria", "Nathan", "Olivia", "Pedro", "Quinn", "Rosa", "Samuel", "Tara",
		"Umar", "Vera", "Walter", "Ximena", "Yusuf", "Zoe", "Aaron", "Beatrice", "Colin", "Diana",
		"Ethan", "Fiona", "George", "Hannah", "Isaac", "Julia", "Kevin", "Laura", "Marcus", "Nina",
	}
	lastNamesEN = [...]string{
		"Adler", "Brooks", "Castillo", "Dawson", "Ellison", "Foster", "Grant", "Huang", "Ibrahim", "Jensen",
		"Keller", "Lopez", "Mercer", "Novak", "Ortega", "Palmer", "Quigley", "Reyes", "Sutton", "Tanaka",
		"Underhill", "Vargas", "Whitman", "Yates", "Zimmer",
	}
	familyNamesKO = [...]string{
		"김", "이", "박", "최", "정", "강", "조", "윤", "장", "임", "한", "오", "서", "신", "권", "황", "안", "송",
		"류", "홍",
	}
	givenNamesKO = [...]string{
		"민준", "서연", "도윤", "지우", "예준", "하은", "시우", "서윤", "주원", "지민", "현우", "수아",
		"지훈", "채원", "건우",
		"다은", "우진", "은서", "선우", "예린", "정훈", "미경", "성호", "영숙", "동현", "혜진", "상민",
		"은주", "재현", "유진",
	}
	personasEN = [...]string{"Sarah", "James", "Emma", "Michael", "Chloe", "Ryan", "Alice", "David", "Mia", "Tom"}
	personasKO = [...]string{"하나", "지수", "민서", "서준", "유나", "도현", "수빈", "현주", "가은", "태오"}
	streetsEN  = [...]string{
		"Maple Street", "Harbor Road", "Lincoln Avenue", "Mill Lane", "Station Road", "Oak Drive", "Chestnut Way", "River Street",
	}
	streetsKO = [...]string{"한빛로", "은행나무길", "새싹로", "푸른솔로", "달맞이길", "강변로",
		"무지개로", "햇살길"}
	weekdaysKO  = [...]string{"일요일", "월요일", "화요일", "수요일", "목요일", "금요일", "토요일"}
	areaCodesUS = [...]string{
		"201", "202", "206", "212", "213", "215", "217", "303", "305", "310", "312", "313", "314", "404", "408",
		"410", "412", "415", "503", "512", "516", "602", "612", "614", "617", "619", "702", "713", "718", "808",
		"817", "818", "901", "904", "909", "914", "916", "917", "919", "972",
	}
)

// appendPhone writes the customer's number: digits only, from ranges reserved for fiction
// (555-01xx) or never assigned (010-0000-xxxx).
func appendPhone(dst []byte, language string, customer int) []byte {
	if language == "ko" {
		return wire.AppendPadded(append(dst, "0100000"...), 1000+customer, 4)
	}
	dst = append(dst, areaCodesUS[customer%len(areaCodesUS)]...)
	return wire.AppendPadded(append(dst, "55501"...), customer/len(areaCodesUS)%100, 2)
}

func appendName(dst []byte, language string, customer int) []byte {
	h := dice.Mix(uint64(customer))
	if language == "ko" {
		// The first family names are by far the most common ones.
		dst = append(dst, familyNamesKO[dice.Pick(h, len(familyNamesKO))*dice.Pick(dice.Mix(h), len(familyNamesKO))/len(familyNamesKO)]...)
		return append(dst, givenNamesKO[customer%len(givenNamesKO)]...)
	}
	dst = append(dst, firstNamesEN[customer%len(firstNamesEN)]...)
	dst = append(dst, ' ')
	return append(dst, lastNamesEN[dice.Pick(h, len(lastNamesEN))]...)
}
