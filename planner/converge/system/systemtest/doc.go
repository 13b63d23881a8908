// Package systemtest has sandboxes for the tests of package system's users: folders that pass for machines, whose
// commands are recorded and answered with what real nodes print.
package systemtest
