package alerts

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/alert/channel"
	"callhouse/internal/analytics/page"
	"callhouse/internal/words"
)

// Mailer sends the morning page by mail.
type Mailer struct {
	*channel.Mailer
	title   string
	secrets *words.Secrets
}

// MailerOf returns a mail channel from the file of the setting alerts.
func MailerOf(c *answer.Command, name string) (*Mailer, error) {
	f, err := fileOf(c)
	if err != nil {
		return nil, err
	}
	made, known, err := f.channel(name, c.Env, channel.Lines{To: io.Discard}, "")
	if err != nil {
		return nil, err
	}
	m, ok := made.(*channel.Mailer)
	if !ok {
		var mail []string
		for name, c := range f.Channels {
			if c.Type == "mail" {
				mail = append(mail, name)
			}
		}
		slices.Sort(mail)
		hint := "channels of type mail: " + strings.Join(mail, ", ")
		if len(mail) == 0 {
			hint = "add a channel of type mail to " + f.path
		}
		return nil, cli.Usage(cli.Suggest(name, mail, hint),
			"the channel %q is not of type mail", name)
	}
	return &Mailer{m, cmp.Or(f.Title, c.Profile), words.NewSecrets(known...)}, nil
}

// Page sends the page written by write. made is its summary, valid after write returns.
func (m *Mailer) Page(ctx context.Context, write func(io.Writer) error, made *page.Summary) error {
	var whole bytes.Buffer
	if err := write(&whole); err != nil {
		return err
	}
	subject := made.Title
	if m.title != "" {
		subject = m.title + ": " + subject
	}
	if made.Sentence != "" {
		subject += ": " + made.Sentence
	}
	sum := sha256.Sum256(whole.Bytes())
	err := m.Deliver(ctx, channel.Letter{ID: hex.EncodeToString(sum[:12]), Subject: words.Line(subject), Text: words.Lines(figures(made)),
		Name: "report.html", Page: whole.Bytes()})
	if err != nil {
		return cli.Fail(cli.ExitFailed, fmt.Errorf("mail the page: %w", errors.New(m.secrets.Error(err))), "nothing is kept: run it again")
	}
	return nil
}

// figures returns the key numbers of a page as text: those of the last day, and of the period.
func figures(made *page.Summary) string {
	course := func(before, now, word string) string {
		if word != "" {
			now += " (" + word + ")"
		}
		return before + " → " + now
	}
	lines := []string{made.Sentence, "", course(made.DayBefore, made.Day, "") + " · " + course(made.WholeBefore, made.Whole, "")}
	for _, t := range made.Figures {
		var day, whole string
		if t.DayChange != nil {
			day = t.DayChange.Word
		}
		if t.WholeChange != nil {
			whole = t.WholeChange.Word
		}
		lines = append(lines, t.Name+": "+course(t.DayBefore.Text, t.Day.Text, day)+" · "+course(t.WholeBefore.Text, t.Whole.Text, whole))
	}
	return strings.Join(lines, "\n") + "\n"
}
