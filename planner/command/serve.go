package command

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/server"
)

func newServe(j *journalFlags) *cobra.Command {
	var listen, tokenFile, peopleFile string
	var decide bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve what the journals have over HTTP: a page to look at runs and services, and JSON for programs",
		Long: "Serve what the journals of a directory or database have over HTTP: sites, runs with their nodes, tasks and events, services and their\n" +
			"history. Open the address that it prints in a browser; /v1/openapi.json describes the same as JSON, /healthz is for monitoring. It ends with an interrupt.\n\n" +
			"With --decide, who opens the printed address may approve, pause, resume and cancel active runs, in the name of who started serve. With --people-file\n" +
			"people do so with tokens of their own: each line has a name, blanks and a token. The journal has who decided, when and why.\n\n" +
			"Without a token only a loopback address is served. With --token-file, each request must have the header Authorization: Bearer TOKEN; a browser\n" +
			"asks for it as a password, with any user name. Give the address to other machines through a proxy with TLS.\n\n" +
			"Exit status: 0 interrupted, 1 it cannot serve, 2 wrong arguments.",
		Args: noArguments,
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8642", "address to listen on; port 0 is any free one")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "file with the token that each request must have")
	cmd.Flags().StringVar(&peopleFile, "people-file", "", "file with the people who may decide about runs, a name and a token on each line")
	cmd.Flags().BoolVar(&decide, "decide", false, "print an address whose reader may decide about runs; on loopback only")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		token, err := readToken(tokenFile)
		if err == nil {
			err = server.CheckAddress(listen, token)
		}
		if err == nil && decide && (token != "" || peopleFile != "") {
			err = errors.New("--decide is for the person at this machine; leave it out with --token-file and --people-file")
		}
		var people []server.Person
		if err == nil {
			people, err = readPeople(peopleFile)
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
		_, port, _ := net.SplitHostPort(l.Addr().String()) // it has one
		proof := ""
		if decide {
			secret := rand.Text()
			people = append(people, server.Person{Name: person(), Token: secret})
			proof = "#decide=" + secret // a browser keeps this part of an address to itself
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "serving %s\n", served(listen, port, proof)); err != nil {
			return errors.Join(err, l.Close())
		}
		debug.SetGCPercent(50) // pages of large runs are short-lived: rather collect more often than keep their memory
		return server.Serve(cmd.Context(), l, server.Options{Journals: journals, Token: token, People: people})
	}
	return cmd
}

// served returns the URL of what listens at an address, with the port that it has, to open in a browser, and whether
// there are more.
func served(listen, port, proof string) string {
	host, _, _ := net.SplitHostPort(listen) // it was checked
	others := ""
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		others = ", and at every other address of this machine"
		if host = "localhost"; ip.To4() != nil {
			host = "127.0.0.1"
		}
	}
	return "http://" + net.JoinHostPort(host, port) + "/" + proof + others
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
	if err := checkToken(token); err != nil {
		return "", fmt.Errorf("--token-file %q: %w", file, err)
	}
	return token, nil
}

func checkToken(token string) error {
	if len(token) < 16 || strings.ContainsAny(token, " \t\r\n") {
		return errors.New("must have one token of 16 characters or more, without white space")
	}
	return nil
}

// readPeople reads who may decide. Lines that are empty or begin with # say nothing.
func readPeople(file string) (people []server.Person, err error) {
	if file == "" {
		return nil, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--people-file: %w", err)
	}
	number := 0
	for line := range strings.Lines(string(content)) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 2 {
			return nil, fmt.Errorf("--people-file %s:%d: must have a name, blanks and a token", file, number)
		}
		p := server.Person{Name: strings.Join(fields[:len(fields)-1], " "), Token: fields[len(fields)-1]}
		if err := checkToken(p.Token); err != nil {
			return nil, fmt.Errorf("--people-file %s:%d: %w", file, number, err)
		}
		if slices.ContainsFunc(people, func(o server.Person) bool { return o.Token == p.Token }) {
			return nil, fmt.Errorf("--people-file %s:%d: another person has this token; give each one of their own", file, number)
		}
		people = append(people, p)
	}
	if len(people) == 0 {
		return nil, fmt.Errorf("--people-file %s: names nobody; each line must have a name, blanks and a token", file)
	}
	return people, nil
}
