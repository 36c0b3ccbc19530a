// Package holiday returns the nationwide public holidays of a country.
package holiday

import (
	"maps"
	"slices"
	"time"

	"github.com/rickar/cal/v2"
	"github.com/rickar/cal/v2/ar"
	"github.com/rickar/cal/v2/at"
	"github.com/rickar/cal/v2/be"
	"github.com/rickar/cal/v2/bg"
	"github.com/rickar/cal/v2/br"
	"github.com/rickar/cal/v2/ca"
	"github.com/rickar/cal/v2/ch"
	"github.com/rickar/cal/v2/cz"
	"github.com/rickar/cal/v2/de"
	"github.com/rickar/cal/v2/dk"
	"github.com/rickar/cal/v2/es"
	"github.com/rickar/cal/v2/fr"
	"github.com/rickar/cal/v2/gb"
	"github.com/rickar/cal/v2/gr"
	"github.com/rickar/cal/v2/hr"
	"github.com/rickar/cal/v2/ie"
	"github.com/rickar/cal/v2/it"
	"github.com/rickar/cal/v2/jp"
	"github.com/rickar/cal/v2/lt"
	"github.com/rickar/cal/v2/lv"
	"github.com/rickar/cal/v2/nl"
	"github.com/rickar/cal/v2/no"
	"github.com/rickar/cal/v2/nz"
	"github.com/rickar/cal/v2/pl"
	"github.com/rickar/cal/v2/ro"
	"github.com/rickar/cal/v2/ru"
	"github.com/rickar/cal/v2/se"
	"github.com/rickar/cal/v2/si"
	"github.com/rickar/cal/v2/sk"
	"github.com/rickar/cal/v2/ua"
	"github.com/rickar/cal/v2/us"
	"github.com/rickar/cal/v2/za"
)

var countries = map[string][]*cal.Holiday{
	"AR": ar.Holidays, "AT": at.Holidays, "BE": be.Holidays, "BG": bg.Holidays, "BR": br.Holidays, "CA": ca.Holidays, "CH": ch.Holidays,
	"CZ": cz.Holidays, "DE": de.Holidays, "DK": dk.Holidays, "ES": es.Holidays, "FR": fr.Holidays, "GB": gb.Holidays, "GR": gr.Holidays,
	"HR": hr.Holidays, "IE": ie.Holidays, "IT": it.Holidays, "JP": jp.Holidays, "LT": lt.Holidays, "LV": lv.Holidays, "NL": nl.Holidays,
	"NO": no.Holidays, "NZ": nz.Holidays, "PL": pl.Holidays, "RO": ro.Holidays, "RU": ru.Holidays, "SE": se.Holidays, "SI": si.Holidays,
	"SK": sk.Holidays, "UA": ua.Holidays, "US": us.Holidays, "ZA": za.Holidays,
}

// Countries returns the supported countries by their two letters.
func Countries() []string { return slices.Sorted(maps.Keys(countries)) }

// In returns the holidays of a country from one year to another, in order: the days themselves and
// the days on which they are observed; none for an unknown country.
func In(country string, from, to int) []time.Time {
	var out []time.Time
	for year := from; year <= to; year++ {
		for _, h := range countries[country] {
			actual, observed := h.Calc(year)
			for _, day := range []time.Time{actual, observed} {
				if y, m, d := day.Date(); !day.IsZero() {
					out = append(out, time.Date(y, m, d, 0, 0, 0, 0, time.UTC))
				}
			}
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.Compact(out)
}
