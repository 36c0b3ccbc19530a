package analytics

import (
	"context"
	"errors"
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
	db, err := duck.Open(duck.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Connect()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	zones, err = column(ctx, conn, "SELECT name FROM pg_timezone_names() ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("list the time zones: %w", err)
	}
	return zones, nil
}
