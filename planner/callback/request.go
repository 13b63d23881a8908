package callback

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func request() resource.Schema {
	pem := func(name, what, absent string, sensitive bool) []resource.Parameter {
		return []resource.Parameter{
			{Name: name, Kind: resource.String, Sensitive: sensitive, Check: checkLength, Description: what +
				", as PEM text of at most 1 MiB." + absent},
			{Name: name + "_file", Kind: resource.String, Check: checkAbsolute, Description: what +
				": absolute path of a PEM file of at most 4 MiB on the machine that slipway runs on." + absent},
		}
	}
	return resource.Schema{
		Type:    HTTP,
		Summary: "Makes an HTTP request from the machine that slipway runs on. The callback fails on a status that is not expected.",
		Parameters: withSettings(slices.Concat(
			[]resource.Parameter{
				{
					Name: "url", Kind: resource.String, Required: true, Check: func(v any) error {
						s, _ := v.(string)
						return CheckURL(s)
					},
					Description: "Where to, http or https. A redirect is followed, at most ten times, and only to the same host when there are headers, a body or a client certificate.",
				},
				{
					Name: "method", Kind: resource.String, Check: checkMethod,
					Description: "The method, up to 32 capital letters, but not CONNECT. Default: GET, with body or json POST.",
				},
				{
					Name: "headers", Kind: resource.StringMap, Sensitive: true, Scalars: true, Check: checkHeaders,
					Description: "Header fields, by name.",
				},
				{Name: "body", Kind: resource.String, Sensitive: true, Check: checkLength,
					Description: "What to send, at most 1 MiB. Excludes json."},
				{
					Name: "json", Kind: resource.String, Sensitive: true, Check: checkJSON,
					Description: "What to send, as JSON text, at most 1 MiB, with the content type application/json. Excludes body.",
				},
				{
					Name: "status", Kind: resource.StringList, Scalars: true,
					Check: func(v any) error {
						texts, _ := v.([]string)
						_, err := ParseStatuses(texts)
						return err
					},
					Description: "Statuses that are a success: 200, 2xx or 200-204. Default: 2xx.",
				},
				{
					Name: "values", Kind: resource.StringMap, Check: checkPaths,
					Description: "What to take from the response, which must be JSON of at most 1 MiB: the name of the value, and its path such as data.items[0].id or labels[\"a.b/c\"], at most 1 KiB with indices up to 1048576.",
				},
			},
			pem("ca", "The authorities that the server's certificate is checked against",
				" Default: those of the machine.", false),
			pem("client_certificate", "The certificate to show to the server, with those that lead to its authority",
				"", false),
			pem("client_key", "The key of client_certificate", "", true),
		)...),
		Check: checkRequest,
	}
}

// CheckURL reports an invalid address of a request.
func CheckURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil: // the text of err repeats the address, which may contain a secret
		return errors.New("is not a URL such as https://host/path")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("must begin with http:// or https:// and a host")
	case u.User != nil:
		return errors.New("holds a user; put it into the header Authorization")
	}
	return nil
}

var (
	methodForm = regexp.MustCompile(`^[A-Z]{1,32}$`)
	headerForm = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$") // a token of RFC 9110, 5.6.2
)

func checkMethod(v any) error {
	if s, _ := v.(string); !methodForm.MatchString(s) || s == "CONNECT" {
		return fmt.Errorf("%q is not a method such as GET, POST, PUT, PATCH or DELETE", s)
	}
	return nil
}

func checkHeaders(v any) error {
	m, _ := v.(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !headerForm.MatchString(name) {
			return fmt.Errorf("%q is not the name of a header field", name)
		}
		if strings.ContainsAny(m[name], "\r\n\x00") {
			return fmt.Errorf("the value of %s contains a line break or a NUL byte", name)
		}
	}
	return nil
}

func checkJSON(v any) error {
	if err := checkLength(v); err != nil {
		return err
	}
	if s, _ := v.(string); !json.Valid([]byte(s)) {
		return errors.New("is not JSON text; use jsonencode")
	}
	return nil
}

func checkPaths(v any) error {
	m, _ := v.(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if _, err := ParsePath(m[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// excluding are pairs of parameters that mean the same thing twice.
var excluding = [][2]string{{"body", "json"}, {"ca", "ca_file"}, {"client_certificate", "client_certificate_file"},
	{"client_key", "client_key_file"}}

func checkRequest(r resource.Resource) []invalid.Error {
	var errs []invalid.Error
	for _, pair := range excluding {
		if r.Parameters.Has(pair[0]) && r.Parameters.Has(pair[1]) {
			errs = append(errs, invalid.Error{Attribute: pair[1], Message: "excludes " + pair[0] + "; keep one"})
		}
	}
	certificate := r.Parameters.Has("client_certificate") || r.Parameters.Has("client_certificate_file")
	key := r.Parameters.Has("client_key") || r.Parameters.Has("client_key_file")
	if certificate && !key {
		errs = append(errs, invalid.Error{Attribute: "client_certificate", Message: "needs its key; give client_key or client_key_file"})
	}
	if key && !certificate {
		errs = append(errs, invalid.Error{Attribute: "client_key",
			Message: "is of no use without client_certificate or client_certificate_file"})
	}
	return errs
}

// Statuses are the response statuses that count as success.
type Statuses []statusRange

type statusRange struct{ from, to int }

// ParseStatuses parses statuses of the forms 200, 2xx and 200-204. An empty list means 2xx.
func ParseStatuses(texts []string) (Statuses, error) {
	if len(texts) == 0 {
		return Statuses{{200, 299}}, nil
	}
	out := make(Statuses, len(texts))
	for i, text := range texts {
		r, ok := parseStatus(text)
		if !ok {
			return nil, fmt.Errorf("%q is not a status such as 200, 2xx or 200-204", text)
		}
		out[i] = r
	}
	return out, nil
}

func parseStatus(text string) (statusRange, bool) {
	if len(text) == 3 && strings.EqualFold(text[1:], "xx") {
		hundreds := int(text[0]-'0') * 100
		return statusRange{hundreds, hundreds + 99}, hundreds >= 100 && hundreds <= 500
	}
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, okFrom := statusNumber(first)
	to, okTo := statusNumber(last)
	return statusRange{from, to}, okFrom && okTo && from <= to
}

func statusNumber(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && len(s) == 3 && n >= 100 && n <= 599
}

// Has reports whether the status counts as success.
func (s Statuses) Has(status int) bool {
	for _, r := range s {
		if r.from <= status && status <= r.to {
			return true
		}
	}
	return false
}
