package querycmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/page"
	"callhouse/internal/words"
)

// pageCommand returns the command of the morning page.
func (a *app) pageCommand() *cobra.Command {
	var title, mail string
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Write the morning page: key numbers and charts in one HTML file",
		Long: `Write the morning page: one HTML file that starts with one sentence, what changed by
more than chance since the previous period, and five numbers of the last complete day
and of the period; then it shows the calls to listen to, agents, how and why calls
ended, failed tools, the course of the numbers, and whether the data is complete. It
uses no network and no scripts, adapts to phone, desktop, paper and dark mode, and can
be mailed. HTML is its only format; its languages are English and Korean (--lang ko).

Its numbers are those of the other reports; below each section is the command that
prints them. It covers whole days: --since and --until are cut to the start of their
day. The default is the 28 days before the first day that is not over or not fully
listed, so that it has as many weekends as the four weeks before.

A new file is readable only by its owner; an existing one keeps its mode.

--mail sends the page, as a file beside its key numbers as text, through a channel of
type mail in the file of --alerts.`,
		Example: `  query report --output report.html
  query report --tz Asia/Seoul --since 91d --title "Support, Seoul" -o report.html
  query report --tz Asia/Seoul --lang ko --currency KRW -o report.html
  query report --agent 0a7e1f60 --since 2026-10-01 --until 2026-11-01 -o october.html
  query report --tz Asia/Seoul --mail morning --alerts /etc/callhouse/alerts.toml`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runPage(cmd.Context(), title, mail)
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.Since, "since", "", "start with the day of `TIME`: a date (2026-11-01), an RFC 3339 time, or an age (7d)")
	f.StringVar(&a.Until, "until", "", "end with the day before that of `TIME`")
	a.agentFlag(cmd)
	a.whereFlag(cmd)
	f.StringVar(&mail, "mail", "", "send the page through this `CHANNEL` of the file of --alerts, instead of writing it to stdout")
	f.StringVar(&title, "title", "", "`TITLE` of the page; default: Calls, in the page's language")
	a.AddOwnFlags(cmd, config.Query)
	a.AddFlagsOf(cmd, config.Alert)
	cli.Complete(cmd, "lang", page.Languages()...)
	return cmd
}

func (a *app) runPage(ctx context.Context, title, channel string) (err error) {
	if channel != "" && a.Output != "" {
		return cli.Usage("write the page with a second command", "--mail and --output exclude each other")
	}
	if a.Format != "" && a.Format != "html" {
		return cli.Usage("for other formats use the other reports: query list", "report writes html, not %s", a.Format)
	}
	if a.Output == "" && channel == "" && a.Width() > 0 {
		return cli.Usage("write it to a file, e.g. --output report.html", "report does not print HTML to a terminal")
	}
	texts, err := page.NewTexts(a.Lang, a.Currency)
	if err != nil {
		return cli.Usage(cli.Suggest(a.Lang, page.Languages(), "languages: "+strings.Join(page.Languages(), ", ")), "%v", err)
	}
	var mail *mailer
	if channel != "" {
		if mail, err = mailerOf(&a.Command, channel); err != nil {
			return err
		}
	}
	_, now, p, err := a.parseReportFlags()
	if err != nil {
		return err
	}
	w, err := a.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, w.Close()) }()
	return a.writePage(ctx, w, page.Options{Since: p.Since, Until: p.Until, Agent: a.Agent, Where: a.Where, Title: title, Texts: texts,
		Now: now, Version: cli.Version()}, mail)
}

func (a *app) writePage(ctx context.Context, w *analytics.Warehouse, o page.Options, mail *mailer) error {
	var made page.Summary
	write := func(to io.Writer) (err error) {
		made, err = page.Write(ctx, to, w, o)
		return err
	}
	var err error
	switch {
	case mail != nil:
		err = mail.page(ctx, write, &made)
	case a.Output == "":
		var whole bytes.Buffer // print nothing of a page that fails
		if err = write(&whole); err == nil {
			_, err = whole.WriteTo(a.Stdout)
		}
	default:
		err = a.WriteFile(a.Output, write)
	}
	var none *page.PeriodError
	if errors.As(err, &none) {
		return cli.Usage("the page needs at least one complete, fully listed day: set --since earlier or --until later", "%v", none)
	}
	if err == nil && made.Calls == 0 {
		words.Fprintln(a.Stderr, "no calls match")
	}
	return err
}
