package sandbox

import (
	"strconv"
	"time"
)

// AppendSlot writes what fills a slot in the call. It depends on nothing but the
// call, so a name or an amount is the same wherever the call mentions it.
func (c *Call) AppendSlot(dst []byte, s slot) []byte {
	h := hash(c.key, 100+uint64(s))
	korean := c.Agent.Language == "ko"
	switch s {
	case slotName:
		return appendName(dst, c.Agent.Language, c.customer)
	case slotFirst:
		if korean {
			return appendName(dst, "ko", c.customer)
		}
		return append(dst, firstNamesEN[c.customer%len(firstNamesEN)]...)
	case slotPersona:
		return append(dst, c.Agent.Persona...)
	case slotCompany:
		return append(dst, c.Agent.Company...)
	case slotStaff:
		return c.scenario.staff.of(h).append(dst, c, false)
	case slotProduct:
		return c.scenario.products.of(h).append(dst, c, false)
	case slotPhone:
		return appendPhone(dst, c.Agent.Language, c.customer)
	case slotCustomer:
		return appendPadded(append(dst, "C-"...), 100000+c.customer*37, 6)
	case slotOrder:
		return appendPadded(dst, 40000000+pick(h, 59999999), 8)
	case slotTicket:
		return appendPadded(append(dst, "T-"...), pick(h, 1000000), 6)
	case slotLast4:
		return appendPadded(dst, pick(mix(uint64(c.customer)), 10000), 4)
	case slotAmount, slotBalance:
		return appendAmount(dst, korean, c.amount(s))
	case slotAmountNumber:
		if korean {
			return appendDecimal(dst, c.amount(slotAmount)*100)
		}
		return appendDecimal(dst, c.amount(slotAmount))
	case slotParty:
		return strconv.AppendInt(dst, int64(2+pick(h, 7)), 10)
	case slotMinutes:
		return strconv.AppendInt(dst, int64(5*(1+pick(h, 9))), 10)
	case slotScore:
		return strconv.AppendInt(dst, int64(c.score(h)), 10)
	case slotDate, slotDate2, slotISODate, slotISODate2, slotISOPast:
		return appendDate(dst, c, s, korean)
	case slotTime, slotTime2, slotISOTime, slotISOTime2:
		return appendClock(dst, c, s, korean)
	case slotAddress:
		n := int64(1 + pick(h, 180))
		if korean {
			dst = append(dst, streetsKO[pick(mix(h), len(streetsKO))]...)
			return strconv.AppendInt(append(dst, ' '), n, 10)
		}
		dst = strconv.AppendInt(dst, n, 10)
		return append(append(dst, ' '), streetsEN[pick(mix(h), len(streetsEN))]...)
	}
	return dst
}

// amount is a sum of money in won, or in cents for callers in English.
func (c *Call) amount(s slot) int64 {
	if s == slotAmountNumber {
		s = slotAmount
	}
	n := int64(pick(hash(c.key, 100+uint64(s)), 960))
	return (40 + n) * 100
}

// score is the caller's grade for the service, 1 to 10: it goes with the mood.
func (c *Call) score(h uint64) int {
	switch c.Sentiment {
	case "positive":
		return 8 + pick(h, 3)
	case "negative":
		return 1 + pick(h, 4)
	}
	return 5 + pick(h, 3)
}

func appendAmount(dst []byte, korean bool, n int64) []byte {
	if !korean {
		return appendDecimal(append(dst, '$'), n)
	}
	dst = strconv.AppendInt(dst, n/1000, 10)
	dst = appendPadded(append(dst, ','), int(n%1000), 3)
	return append(dst, "원"...)
}

func appendDate(dst []byte, c *Call, s slot, korean bool) []byte {
	first := 1 + pick(hash(c.key, 100+uint64(slotDate)), 9)
	if s == slotDate2 || s == slotISODate2 {
		first += 1 + pick(hash(c.key, 100+uint64(slotDate2)), 6)
	}
	if s == slotISOPast {
		first = -2 - 3*first
	}
	t := time.UnixMilli(c.StartAt + zoneOffset + int64(first)*msDay).UTC()
	if s == slotISODate || s == slotISODate2 || s == slotISOPast {
		return t.AppendFormat(dst, "2006-01-02")
	}
	if !korean {
		return t.AppendFormat(dst, "Monday, January 2")
	}
	dst = strconv.AppendInt(dst, int64(t.Month()), 10)
	dst = strconv.AppendInt(append(dst, "월 "...), int64(t.Day()), 10)
	return append(append(dst, "일 "...), weekdaysKO[t.Weekday()]...)
}

func appendClock(dst []byte, c *Call, s slot, korean bool) []byte {
	base := slotTime
	if s == slotTime2 || s == slotISOTime2 {
		base = slotTime2
	}
	h := hash(c.key, 100+uint64(base))
	hour, minute := 9+pick(h, 10), 15*pick(mix(h), 4)
	if s == slotISOTime || s == slotISOTime2 {
		return appendPadded(append(appendPadded(dst, hour, 2), ':'), minute, 2)
	}
	shown := (hour+11)%12 + 1
	if !korean {
		dst = strconv.AppendInt(dst, int64(shown), 10)
		dst = appendPadded(append(dst, ':'), minute, 2)
		if hour < 12 {
			return append(dst, " AM"...)
		}
		return append(dst, " PM"...)
	}
	if hour < 12 {
		dst = append(dst, "오전 "...)
	} else {
		dst = append(dst, "오후 "...)
	}
	dst = append(strconv.AppendInt(dst, int64(shown), 10), "시"...)
	if minute > 0 {
		dst = append(strconv.AppendInt(append(dst, ' '), int64(minute), 10), "분"...)
	}
	return dst
}
