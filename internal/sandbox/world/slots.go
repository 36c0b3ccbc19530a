package world

import (
	"strconv"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/script"
	"callhouse/internal/sandbox/wire"
)

// AppendSlot writes what fills a slot in the call. It depends on nothing but the
// call, so a name or an amount is the same wherever the call mentions it.
func (c *Call) AppendSlot(dst []byte, s script.Slot) []byte {
	h := dice.Hash(c.Key, 100+uint64(s))
	korean := c.Agent.Language == "ko"
	switch s {
	case script.SlotName:
		return appendName(dst, c.Agent.Language, c.customer)
	case script.SlotFirst:
		if korean {
			return appendName(dst, "ko", c.customer)
		}
		return append(dst, firstNamesEN[c.customer%len(firstNamesEN)]...)
	case script.SlotPersona:
		return append(dst, c.Agent.Persona...)
	case script.SlotCompany:
		return append(dst, c.Agent.Company...)
	case script.SlotStaff:
		return c.scenario.Staff.Of(h).Append(dst, c, false)
	case script.SlotProduct:
		return c.scenario.Products.Of(h).Append(dst, c, false)
	case script.SlotPhone:
		return appendPhone(dst, c.Agent.Language, c.customer)
	case script.SlotCustomer:
		return wire.AppendPadded(append(dst, "C-"...), 100000+c.customer*37, 6)
	case script.SlotOrder:
		return wire.AppendPadded(dst, 40000000+dice.Pick(h, 59999999), 8)
	case script.SlotTicket:
		return wire.AppendPadded(append(dst, "T-"...), dice.Pick(h, 1000000), 6)
	case script.SlotLast4:
		return wire.AppendPadded(dst, dice.Pick(dice.Mix(uint64(c.customer)), 10000), 4)
	case script.SlotAmount, script.SlotBalance:
		return appendAmount(dst, korean, c.amount(s))
	case script.SlotAmountNumber:
		if korean {
			return wire.AppendDecimal(dst, c.amount(script.SlotAmount)*100)
		}
		return wire.AppendDecimal(dst, c.amount(script.SlotAmount))
	case script.SlotParty:
		return strconv.AppendInt(dst, int64(2+dice.Pick(h, 7)), 10)
	case script.SlotMinutes:
		return strconv.AppendInt(dst, int64(5*(1+dice.Pick(h, 9))), 10)
	case script.SlotScore:
		return strconv.AppendInt(dst, int64(c.score(h)), 10)
	case script.SlotDate, script.SlotDate2, script.SlotISODate, script.SlotISODate2, script.SlotISOPast:
		return appendDate(dst, c, s, korean)
	case script.SlotTime, script.SlotTime2, script.SlotISOTime, script.SlotISOTime2:
		return appendClock(dst, c, s, korean)
	case script.SlotAddress:
		n := int64(1 + dice.Pick(h, 180))
		if korean {
			dst = append(dst, streetsKO[dice.Pick(dice.Mix(h), len(streetsKO))]...)
			return strconv.AppendInt(append(dst, ' '), n, 10)
		}
		dst = strconv.AppendInt(dst, n, 10)
		return append(append(dst, ' '), streetsEN[dice.Pick(dice.Mix(h), len(streetsEN))]...)
	}
	return dst
}

// amount is a sum of money in won, or in cents for callers in English.
func (c *Call) amount(s script.Slot) int64 {
	if s == script.SlotAmountNumber {
		s = script.SlotAmount
	}
	n := int64(dice.Pick(dice.Hash(c.Key, 100+uint64(s)), 960))
	return (40 + n) * 100
}

// score is the caller's grade for the service, 1 to 10: it goes with the mood.
func (c *Call) score(h uint64) int {
	switch c.Sentiment {
	case "positive":
		return 8 + dice.Pick(h, 3)
	case "negative":
		return 1 + dice.Pick(h, 4)
	}
	return 5 + dice.Pick(h, 3)
}

func appendAmount(dst []byte, korean bool, n int64) []byte {
	if !korean {
		return wire.AppendDecimal(append(dst, '$'), n)
	}
	dst = strconv.AppendInt(dst, n/1000, 10)
	dst = wire.AppendPadded(append(dst, ','), int(n%1000), 3)
	return append(dst, "원"...)
}

func appendDate(dst []byte, c *Call, s script.Slot, korean bool) []byte {
	first := 1 + dice.Pick(dice.Hash(c.Key, 100+uint64(script.SlotDate)), 9)
	if s == script.SlotDate2 || s == script.SlotISODate2 {
		first += 1 + dice.Pick(dice.Hash(c.Key, 100+uint64(script.SlotDate2)), 6)
	}
	if s == script.SlotISOPast {
		first = -2 - 3*first
	}
	t := time.UnixMilli(c.StartAt + zoneOffset + int64(first)*msDay).UTC()
	if s == script.SlotISODate || s == script.SlotISODate2 || s == script.SlotISOPast {
		return t.AppendFormat(dst, "2006-01-02")
	}
	if !korean {
		return t.AppendFormat(dst, "Monday, January 2")
	}
	dst = strconv.AppendInt(dst, int64(t.Month()), 10)
	dst = strconv.AppendInt(append(dst, "월 "...), int64(t.Day()), 10)
	return append(append(dst, "일 "...), weekdaysKO[t.Weekday()]...)
}

func appendClock(dst []byte, c *Call, s script.Slot, korean bool) []byte {
	base := script.SlotTime
	if s == script.SlotTime2 || s == script.SlotISOTime2 {
		base = script.SlotTime2
	}
	h := dice.Hash(c.Key, 100+uint64(base))
	hour, minute := 9+dice.Pick(h, 10), 15*dice.Pick(dice.Mix(h), 4)
	if s == script.SlotISOTime || s == script.SlotISOTime2 {
		return wire.AppendPadded(append(wire.AppendPadded(dst, hour, 2), ':'), minute, 2)
	}
	shown := (hour+11)%12 + 1
	if !korean {
		dst = strconv.AppendInt(dst, int64(shown), 10)
		dst = wire.AppendPadded(append(dst, ':'), minute, 2)
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
