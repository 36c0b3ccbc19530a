package answer

// Colours of words in tables, by column. Colour and brightness never carry meaning alone: the words
// do.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	faint  = "\x1b[2m"
	plain  = "\x1b[0m"
)

var verdicts = map[string]string{"better": green, "worse": red, "more": yellow, "less": yellow, "too early": faint, "unclear": faint,
	"baseline": faint}

var paints = map[string]map[string]string{
	"verdict": verdicts,
	"state":   {"good": green, "waiting": yellow, "lost": red, "info": faint},
}

// paint returns the colours of table cells; nil if the terminal has none or NO_COLOR is set.
func (c *Command) paint() func(column, cell string) string {
	if c.Width() == 0 || c.Env.Get("NO_COLOR") != "" {
		return nil
	}
	return func(column, cell string) string {
		if colour := paints[column][cell]; colour != "" {
			return colour + cell + plain
		}
		return cell
	}
}
