package enroll

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

func TestExpand(t *testing.T) {
	for pattern, want := range map[string]string{
		"web":            "web",
		"web[01:03]":     "web01 web02 web03",
		"web[8:11]":      "web8 web9 web10 web11",
		"r[1:5:2]-[a:b]": "r1-a r1-b r3-a r3-b r5-a r5-b",
		"n[:2].x":        "n0.x n1.x n2.x",
		"n[098:101]":     "n098 n099 n100 n101",
		"n[098:1001]":    "error: both ends of a range with leading zeros have the same number of digits, as [01:20]",
		"n[5:1]":         "error: the first number of a range is above its last one",
		"n[a:5]":         "error: a range has two numbers or two letters, as web[01:20] or db[a:f]",
		"n[1]":           "error: a range is [FIRST:LAST] or [FIRST:LAST:STEP], as web[01:20]",
		"n[0:999999]":    "error: the range stands for more than 100000 hosts",
		"[0:999][0:999]": "error: the ranges stand for more than 100000 hosts",
	} {
		names, err := expand(pattern)
		got := strings.Join(names, " ")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}

func TestSecretNames(t *testing.T) {
	for name, want := range map[string]bool{"ansible_password": true, "ansible_become_pass": true, "db-token": true,
		"vault_pw": true, "apikey": true, "SECRET": true, "tls_private_key": true, "bypass": false, "tier": false,
		"keyboard": false, "passive": false} {
		if got := secretName(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What is secret by its form is never taken, whatever its name, and its value is in no text.
func TestSecretsByForm(t *testing.T) {
	const key = "-----BEGIN OPENSSH PRIVATE KEY-----\\nsesame\\n"
	r, err := Read([]Source{{"hosts.yaml", []byte(`all: {hosts: {a: {
  plain: "` + key + `", list: [1, "` + key + `"], slipway_labels: {x: "` + key + `"}, ansible_host: !vault "sesame"}}}`)}}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) != 4 || len(r.Nodes[0].Labels) > 0 || r.Nodes[0].Address != "a" {
		t.Errorf("%v\n%v", r.Nodes, r.Warnings)
	}
	if text := fmt.Sprint(r.Nodes, r.Warnings); strings.Contains(text, "sesame") {
		t.Error(text)
	}
}

// Any nodes come back from the inventory that is written of them.
func TestRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 6))
	pick := func(texts ...string) string { return texts[random.IntN(len(texts))] }
	for range 500 {
		var nodes []site.Node
		for i := range 1 + random.IntN(4) {
			n := site.Node{Name: fmt.Sprintf("n%d", i), Address: pick("n0", "192.0.2.1", "2001:db8::1", "x.example")}
			for range random.IntN(4) {
				addTags(&n, pick("web", "n0", "all", "ungrouped", "a b", "x-y.z", "0", "null", "{{ a }}"))
				if reason := addLabel(&n, pick("zone", "app.io/x", "ansible_user", "slipway_rack", "pass", "null"),
					pick("a", "0644", "true", "null", "~", "{{ a }}", "a'b\"c\\", "#x", "é")); reason != "" {
					t.Fatal(reason)
				}
			}
			slices.Sort(n.Tags)
			n.Rack, n.Zone = pick("", "r1", "01"), pick("", "z")
			if random.IntN(2) == 0 {
				n.Roles = []string{"front", pick("back", "1", "no")}
			}
			c := &n.Connection
			c.User, c.Port, c.PrivateKeyFile = pick("", "ops", "1"), random.IntN(3), pick("", "~/.ssh/id", "/a b/c")
			c.HostKeyPolicy, c.KnownHostsFile = pick("", "strict", "accept-new"), pick("", "/k h", "~/.ssh/known_hosts", "/k'")
			c.ConnectTimeout = time.Duration(random.IntN(3)) * time.Second
			if random.IntN(2) == 0 {
				sudo := random.IntN(2) == 0
				c.Sudo = &sudo
			}
			for range random.IntN(3) {
				c.Bastions = append(c.Bastions, site.Bastion{Host: pick("gate", "2001:db8::9"), Port: random.IntN(3), User: pick("", "j")})
			}
			if random.IntN(9) == 0 {
				n.Address, c.Transport, c.Bastions = "", "local", []site.Bastion{}
			}
			nodes = append(nodes, n)
		}
		data, warnings := Inventory(nodes)
		r, err := Read([]Source{{"inventory.yaml", data}}, nil, Options{})
		if err != nil || len(warnings)+len(r.Warnings) > 0 {
			t.Fatalf("%v %v\n%s", err, warnings, data)
		}
		if !reflect.DeepEqual(r.Nodes, nodes) {
			t.Fatalf("%+v\nwant\n%+v\n%s", r.Nodes, nodes, data)
		}
	}
}

// What a few bytes stand for is bounded: ranges on many lines, and jump hosts that double at each step.
func TestBounded(t *testing.T) {
	var jumps strings.Builder
	for i := range 40 {
		fmt.Fprintf(&jumps, "Host h%d\nProxyJump h%d,h%d\n", i, i+1, i+1)
	}
	for want, input := range map[string]string{
		"stand for more than 400000": strings.Repeat("n[0:99999]\n", 10_000),
		"jump hosts":                 jumps.String(),
	} {
		start := time.Now()
		if _, err := Read([]Source{{"input", []byte(input)}}, nil, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no error says %q: %v", want, err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: took %s", want, took)
		}
	}
}

// FuzzRead looks for inputs that make it panic, and for nodes that no site takes.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"web[1:3]:22 a=b\n[x:children]\ny\n[y]\n", "Host a b\n ProxyJump c\nHost *\n Port 3\n",
		"all: {hosts: {a: {x: !vault y}}, children: {b: &b {children: *b}}}", `{"_meta": {"hostvars": {"a": {"ansible_port": 1}}}, "g": ["a"]}`,
		"schema: drydock/BaremetalNode/v1\nmetadata: {name: a}\ndata: {addressing: [{network: x, address: y}]}\n",
		"schema: drydock/BaremetalNode/v1\nmetadata: {name: a}\ndata: {host_profile: b, addressing: [{network: x, address: y}]}\n---\n" +
			"schema: drydock/HostProfile/v1\nmetadata: {name: b}\ndata: {host_profile: b, metadata: {tags: [a, '!b'], owner_data: {x: y}}}\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read([]Source{{"input", data}}, nil, Options{})
		if err != nil {
			return
		}
		for _, e := range site.ValidateNodeNames(r.Nodes) {
			t.Error(e)
		}
		for _, w := range r.Warnings {
			if !w.Warning || w.File == "" {
				t.Error(w)
			}
		}
	})
}
