// Package workers tests what the workers of `engine = { temporal = ... }` promise (docs/guides/scaling.md), on a server
// of Temporal, a PostgreSQL database, and worker processes that are started, cut off, asked to end and killed. Nodes are
// folders, except that they have commands.
package workers
