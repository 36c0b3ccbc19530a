package world

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/script"
	"callhouse/internal/sandbox/wire"
)

// AppendSlot writes the value of a slot in the call. It depends only on the call, so a name or an
// amount is the same wherever it occurs.
func (c *Call) AppendSlot(dst []byte, s script.Slot) []byte {
	h := dice.Hash(c.Key, 100+uint64(s))
	korean := c.Agent.Language == "ko"
	switch name := s.String(); name {
	case "name":
		return append(dst, CustomerName(c.Agent.Language, c.customer)...)
	case "first":
		if korean {
			return append(dst, CustomerName("ko", c.customer)...)
		}
		all := people["en"].First
		return append(dst, all[c.customer%len(all)]...)
	case "persona":
		return append(dst, c.Agent.Persona...)
	case "company":
		return append(dst, c.Agent.Company...)
	case "staff":
		return c.scenario.Staff.Of(h).Append(dst, c, false)
	case "product":
		return c.scenario.Products.Of(h).Append(dst, c, false)
	case "phone":
		return append(dst, CustomerPhone(c.Agent.Language, c.customer)...)
	case "customer":
		return append(dst, CustomerNumber(c.customer)...)
	case "order":
		return strconv.AppendInt(dst, int64(40000000+dice.Pick(h, 59999999)), 10)
	case "ticket":
		return fmt.Appendf(dst, "T-%06d", dice.Pick(h, 1000000))
	case "last4":
		return fmt.Appendf(dst, "%04d", dice.Pick(dice.Mix(uint64(c.customer)), 10000))
	case "amount", "balance":
		return appendAmount(dst, korean, c.amount(name))
	case "amount_number":
		if korean {
			return wire.AppendDecimal(dst, c.amount("amount")*100)
		}
		return wire.AppendDecimal(dst, c.amount("amount"))
	case "party":
		return strconv.AppendInt(dst, int64(2+dice.Pick(h, 7)), 10)
	case "minutes":
		return strconv.AppendInt(dst, int64(5*(1+dice.Pick(h, 9))), 10)
	case "score":
		return strconv.AppendInt(dst, int64(c.score(h)), 10)
	case "date", "date2", "iso_date", "iso_date2", "iso_past":
		return appendDate(dst, c, name, korean)
	case "time", "time2", "iso_time", "iso_time2":
		return appendClock(dst, c, name, korean)
	case "address":
		n, streets := 1+dice.Pick(h, 180), people[c.Agent.Language].Streets
		street := streets[dice.Pick(dice.Mix(h), len(streets))]
		if korean {
			return fmt.Appendf(dst, "%s %d", street, n)
		}
		return fmt.Appendf(dst, "%d %s", n, street)
	}
	return dst
}

// draw returns the draw for a slot in this call.
func (c *Call) draw(slot string) uint64 { return dice.Hash(c.Key, 100+uint64(script.SlotOf(slot))) }

// amount returns a sum of money in won, or in cents for English callers.
func (c *Call) amount(slot string) int64 { return (40 + int64(dice.Pick(c.draw(slot), 960))) * 100 }

// score returns the caller's grade for the service, 1 to 10, which follows the mood.
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
	return fmt.Appendf(dst, "%d,%03d원", n/1000, n%1000)
}

func appendDate(dst []byte, c *Call, slot string, korean bool) []byte {
	plain, iso := strings.CutPrefix(slot, "iso_")
	days := 1 + dice.Pick(c.draw("date"), 9)
	switch plain {
	case "date2":
		days += 1 + dice.Pick(c.draw("date2"), 6)
	case "past":
		days = -2 - 3*days
	}
	t := time.UnixMilli(c.StartAt + zoneOffset + int64(days)*msDay).UTC()
	if iso {
		return t.AppendFormat(dst, "2006-01-02")
	}
	if !korean {
		return t.AppendFormat(dst, "Monday, January 2")
	}
	return fmt.Appendf(dst, "%d월 %d일 %s", t.Month(), t.Day(), people["ko"].Weekdays[t.Weekday()])
}

func appendClock(dst []byte, c *Call, slot string, korean bool) []byte {
	plain, iso := strings.CutPrefix(slot, "iso_")
	h := c.draw(plain)
	hour, minute := 9+dice.Pick(h, 10), 15*dice.Pick(dice.Mix(h), 4)
	if iso {
		return fmt.Appendf(dst, "%02d:%02d", hour, minute)
	}
	shown, half := (hour+11)%12+1, hour/12
	if !korean {
		return fmt.Appendf(dst, "%d:%02d %s", shown, minute, [2]string{"AM", "PM"}[half])
	}
	dst = fmt.Appendf(dst, "%s %d시", [2]string{"오전", "오후"}[half], shown)
	if minute > 0 {
		dst = fmt.Appendf(dst, " %d분", minute)
	}
	return dst
}
