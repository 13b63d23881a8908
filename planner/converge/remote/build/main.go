// Command build puts the helpers that the provider carries into the directory that it is given, where package remote
// embeds them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/slipway/terraform-provider-slipway/planner/converge/remote/internal/helperbuild"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: build DIRECTORY")
		os.Exit(2)
	}
	if err := build(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func build(ctx context.Context, directory string) error {
	for _, platform := range helperbuild.Platforms() {
		compressed, err := helperbuild.Build(ctx, platform)
		if err != nil {
			return err
		}
		path := filepath.Join(directory, helperbuild.File(platform))
		if err := os.WriteFile(path, compressed, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d bytes\n", path, len(compressed))
	}
	return nil
}
