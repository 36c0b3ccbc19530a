// Package follow decides when a process that follows the service polls its list and when it sweeps,
// and remembers the calls of the newest pages. It sends no requests.
package follow
