package analytics

import "context"

// Exec runs statements on the warehouse's database, for benchmarks that put other
// relations in the place of the stored ones.
func (w *Warehouse) Exec(ctx context.Context, text string) error {
	conn, err := w.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Exec(ctx, text)
}
