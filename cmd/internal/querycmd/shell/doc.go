// Package shell holds what an interactive SQL shell needs besides answers: the
// cutting of text into statements and commands, completion, history and the line
// editor. It runs no statement, prints nothing but what the editor draws, and
// knows neither DuckDB nor warehouses.
package shell
