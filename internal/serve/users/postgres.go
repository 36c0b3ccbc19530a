package users

import (
	"cmp"

	"github.com/xdg-go/scram"

	"callhouse/internal/postgres"
)

// Defaults returns the users for the Postgres protocol, with default limits.
func (l *List) Defaults(limits postgres.Limits) postgres.Users { return &login{l, limits} }

type login struct {
	list   *List
	limits postgres.Limits
}

// Find implements postgres.Users.
func (l *login) Find(name string) (scram.StoredCredentials, postgres.Limits, error) {
	credentials, u, err := l.list.Find(name)
	limits := l.limits
	limits.Connections, limits.Statement = cmp.Or(u.Connections, limits.Connections), cmp.Or(u.Limit(), limits.Statement)
	return credentials, limits, err
}
