package database

import (
	"context"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/words"
)

// NearestZone returns the time zone whose name is most like name, or "".
func NearestZone(ctx context.Context, name string) (string, error) {
	zones, err := Zones(ctx)
	return words.Nearest(name, zones), err
}

// Zones returns the names of the time zones that DuckDB knows.
func Zones(ctx context.Context) (zones []string, err error) {
	err = duck.InMemory(func(conn *duck.Conn) error {
		// Etc/GMT+9 is nine hours behind GMT, and not what those who type GMT+9 mean.
		zones, err = conn.Column(ctx, "SELECT name FROM pg_timezone_names() WHERE name NOT LIKE '%GMT%' ORDER BY name")
		return err
	})
	return zones, err
}

// CheckZone returns a *ZoneError for a zone that DuckDB does not know.
func CheckZone(ctx context.Context, loc *time.Location) error {
	return duck.InMemory(func(conn *duck.Conn) error { return setZone(ctx, conn, loc) })
}

// ZoneNamed returns one of DuckDB's time zones. The case of its name does not matter.
func ZoneNamed(ctx context.Context, name string) (loc *time.Location, err error) {
	err = duck.InMemory(func(conn *duck.Conn) error {
		names, err := conn.Column(ctx, "SELECT name FROM pg_timezone_names() WHERE lower(name) = lower(?)", name)
		if err == nil && len(names) == 0 {
			err = &ZoneError{Name: name}
		}
		if err == nil {
			loc, err = time.LoadLocation(names[0])
		}
		return err
	})
	return loc, err
}
