package command

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/server"
)

func newServe(j *journalFlags) *cobra.Command {
	var listen, tokenFile string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve what the journals have over HTTP: a page to look at runs and services, and JSON for programs",
		Long: "Serve what the journals of a directory or database have over HTTP, read-only: sites, runs with their nodes, tasks and events, services and their\n" +
			"history. Open the address that it prints in a browser; /v1/openapi.json describes the same as JSON, /healthz is for monitoring. It ends with an interrupt.\n\n" +
			"Without a token only a loopback address is served. With --token-file, each request must have the header Authorization: Bearer TOKEN; a browser\n" +
			"asks for it as a password, with any user name. Give the address to other machines through a proxy with TLS.\n\n" +
			"Exit status: 0 interrupted, 1 it cannot serve, 2 wrong arguments.",
		Args: noArguments,
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8642", "address to listen on; port 0 is any free one")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "file with the token that each request must have")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		token, err := readToken(tokenFile)
		if err == nil {
			err = server.CheckAddress(listen, token)
		}
		if err != nil {
			return inputError(fmt.Errorf("serve: %w", err))
		}
		journals, err := j.location()
		if err != nil {
			return err
		}
		l, err := net.Listen("tcp", listen)
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "serving http://%s/\n", l.Addr()); err != nil {
			return errors.Join(err, l.Close())
		}
		return server.Serve(cmd.Context(), l, server.Options{Journals: journals, Token: token})
	}
	return cmd
}

// readToken reads the token of a file, which may be empty: then there is none.
func readToken(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if len(token) < 16 || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("--token-file %q: must have one token of 16 characters or more, without white space", file)
	}
	return token, nil
}
