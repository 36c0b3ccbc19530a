package opened

import (
	"context"
	"fmt"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/words"
)

// NearestZone returns the time zone whose name is most like name, or "".
func NearestZone(ctx context.Context, name string) (string, error) {
	zones, err := Zones(ctx)
	return words.Nearest(name, zones), err
}

// Zones returns the names of all time zones that DuckDB knows.
func Zones(ctx context.Context) (zones []string, err error) {
	err = duck.InMemory(func(conn *duck.Conn) error {
		zones, err = conn.Column(ctx, "SELECT name FROM pg_timezone_names() ORDER BY name")
		if err != nil {
			return fmt.Errorf("list the time zones: %w", err)
		}
		return nil
	})
	return zones, err
}

// CheckZone returns a *ZoneError for a zone that DuckDB does not know.
func CheckZone(ctx context.Context, loc *time.Location) error {
	return duck.InMemory(func(conn *duck.Conn) error { return setZone(ctx, conn, loc) })
}
