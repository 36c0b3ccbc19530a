// Package config reads what extract and query are told apart from their flags:
// environment variables and the file callhouse.toml, with its profiles. It says
// of every setting where its value came from.
//
// It knows the names of all settings, but what they mean only the commands do.
package config
