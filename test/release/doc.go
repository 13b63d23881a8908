// Package release tests what releases consist of.
package release
