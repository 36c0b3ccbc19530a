package analytics

import (
	"context"
	"fmt"

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
	err = inMemory(func(conn *duck.Conn) error {
		zones, err = column(ctx, conn, "SELECT name FROM pg_timezone_names() ORDER BY name")
		if err != nil {
			return fmt.Errorf("list the time zones: %w", err)
		}
		return nil
	})
	return zones, err
}
