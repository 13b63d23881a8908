// Command types writes the guide to the configuration resource types, from their schemas and from the examples of this
// package, to standard output.
package main

import (
	"fmt"
	"os"
)

func main() {
	if _, err := os.Stdout.WriteString(guide()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
