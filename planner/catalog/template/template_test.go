package template

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

var three = 3

// sample is a structure with everything that a template can meet.
var sample = catalog.Structure{
	Attributes: []catalog.Attribute{
		{Name: "name", Type: catalog.Type{Kind: catalog.String}, Modifier: catalog.Fixed},
		{Name: "port", Type: catalog.Type{Kind: catalog.Int}, Modifier: catalog.Fixed},
		{Name: "ratio", Type: catalog.Type{Kind: catalog.Float}, Modifier: catalog.Fixed},
		{Name: "servers", Type: catalog.Type{Kind: catalog.String, List: true}, Modifier: catalog.Fixed},
		{Name: "extra", Type: catalog.Type{Kind: catalog.Dict}, Modifier: catalog.Fixed},
		{Name: "password", Type: catalog.Type{Kind: catalog.String}, Modifier: catalog.Fixed, Sensitive: true},
		{Name: "note", Type: catalog.Type{Kind: catalog.String, Nullable: true}, Modifier: catalog.Fixed},
		{Name: "vni", Type: catalog.Type{Kind: catalog.Int, Nullable: true}, Modifier: catalog.Allocated,
			HasDefault: true},
	},
	Embedded: []catalog.Embedded{{Name: "files", Modifier: catalog.Changing, Upper: &three,
		Structure: catalog.Structure{Attributes: []catalog.Attribute{
			{Name: "path", Type: catalog.Type{Kind: catalog.String}, Modifier: catalog.Fixed},
			{Name: "uid", Type: catalog.Type{Kind: catalog.Int, Nullable: true}, Modifier: catalog.Allocated},
		}}}},
}

func sampleValues() map[string]any {
	return map[string]any{
		"name": "n", "port": int64(123), "ratio": 0.5, "servers": []any{"a",
			"b"}, "extra": map[string]any{"k": int64(1), "l": []any{true}},
		"password": "hunter2", "note": nil, "vni": nil,
		"files": []any{map[string]any{"path": "/a", "uid": int64(7)}, map[string]any{"path": "/b"}},
	}
}

func sampleScope() Scope {
	return NewScope(sample, sampleValues(), "web", "lon1").WithNode("n1", "10.0.0.1", "r1",
		[]string{"x"}, []string{"db"}, map[string]string{"os": "linux"})
}

func TestEvaluate(t *testing.T) {
	tests := map[string]struct {
		text string
		want Result
	}{
		"plain":   {"no template $ % {}", Result{Value: "no template $ % {}"}},
		"escapes": {"$${a} %%{b} ${1}", Result{Value: "${a} %{b} 1"}},
		"text": {"on ${node.name} (${node.labels.os}) of ${service.name}@${site.name}",
			Result{Value: "on n1 (linux) of web@lon1"}},
		"a number stays":   {"${self.port}", Result{Value: int64(123)}},
		"a fraction stays": {"${self.ratio}", Result{Value: 0.5}},
		"a list stays":     {"${self.servers}", Result{Value: []any{"a", "b"}}},
		"a map stays":      {"${self.extra}", Result{Value: map[string]any{"k": int64(1), "l": []any{true}}}},
		"null":             {"${self.note}", Result{}},
		"embedded":         {"${self.files[*].path}", Result{Value: []any{"/a", "/b"}}},
		"for": {"%{ for s in self.servers ~}\nserver ${s}\n%{ endfor ~}\n",
			Result{Value: "server a\nserver b\n"}},
		"if": {"%{ if self.port > 100 }high%{ else }low%{ endif }", Result{Value: "high"}},
		"object": {"${{ for s in self.servers : s => upper(s) }}",
			Result{Value: map[string]any{"a": "A", "b": "B"}}},
		"not known":            {"vni ${self.vni}", Result{Unknown: true, Awaits: []string{"self.vni"}}},
		"not known in a child": {"${self.files[*].uid}", Result{Unknown: true, Awaits: []string{"self.files.uid"}}},
		"known in a child":     {"${self.files[0].uid}", Result{Value: int64(7)}},
		"not read":             {"${self.name}${false ? self.vni : 1}", Result{Value: "n1"}},
		"sensitive":            {"pw=${self.password}", Result{Value: "pw=hunter2", Sensitive: true}},
		"made from sensitive":  {"${sha256(self.password) == \"\" ? 1 : 2}", Result{Value: int64(2), Sensitive: true}},
		"sensitive in depth": {"${[self.name, [self.password]]}",
			Result{Value: []any{"n", []any{"hunter2"}}, Sensitive: true}},
		"sensitive condition": {"%{ if self.password == \"hunter2\" }yes%{ endif }",
			Result{Value: "yes", Sensitive: true}},
		"beside sensitive": {"${self.name}", Result{Value: "n"}},
		"sensitive json": {"${jsonencode({a = self.password})}",
			Result{Value: `{"a":"hunter2"}`, Sensitive: true}},
		"sensitive yaml": {"${yamlencode({a = self.password})}", Result{Value: "a: hunter2\n", Sensitive: true}},
		"sensitive key":  {`${{hunter2 = "a"}[self.password]}`, Result{Value: "a", Sensitive: true}},
		"sensitive key inside": {`${{a = {hunter2 = 1}}.a[self.password] + 1}`,
			Result{Value: int64(2), Sensitive: true}},
		"sensitive in a loop": {"%{ for s in [self.password] }${s}%{ endfor }",
			Result{Value: "hunter2", Sensitive: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			parsed, err := Parse(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := parsed.Evaluate(sampleScope())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFunctions(t *testing.T) {
	tests := map[string]any{
		`${join(",", self.servers)}`:                         "a,b",
		`${split("/", "a/b")}`:                               []any{"a", "b"},
		`${format("%s-%03d", self.name, 7)}`:                 "n-007",
		`${formatlist("x%s", self.servers)}`:                 []any{"xa", "xb"},
		`${upper("a")}${lower("B")}${title("cd")}`:           "AbCd",
		`${replace("a-b-c", "-", "+")}`:                      "a+b+c",
		`${replace("a1b22", "/([0-9]+)/", "<$1>")}`:          "a<1>b<22>",
		`${jsonencode({b = 1, a = [true, null]})}`:           `{"a":[true,null],"b":1}`,
		`${jsondecode("{\"a\": [1, 2.5]}")}`:                 map[string]any{"a": []any{int64(1), 2.5}},
		`${yamlencode({b = 1, a = ["x", "yes"]})}`:           "a:\n  - x\n  - \"yes\"\nb: 1\n",
		`${yamldecode("a: [1, x]")}`:                         map[string]any{"a": []any{int64(1), "x"}},
		`${base64encode("hello")}`:                           "aGVsbG8=",
		`${base64decode("aGVsbG8=")}`:                        "hello",
		`${sha256("")}`:                                      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		`${md5("")}`:                                         "d41d8cd98f00b204e9800998ecf8427e",
		`${sha1("")}`:                                        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
		`${uuidv5("dns", "example.com")}`:                    "cfbff0d1-9375-5685-968c-48ce8b15ae17",
		`${cidrhost("10.12.112.0/20", 16)}`:                  "10.12.112.16",
		`${cidrhost("10.12.112.0/20", -1)}`:                  "10.12.127.255",
		`${cidrhost("fd00:fd12:3456:7890::/72", 34)}`:        "fd00:fd12:3456:7890::22",
		`${cidrnetmask("172.16.0.0/12")}`:                    "255.240.0.0",
		`${cidrsubnet("172.16.0.0/12", 4, 2)}`:               "172.18.0.0/16",
		`${cidrsubnet("fd00:fd12:3456:7890::/56", 16, 162)}`: "fd00:fd12:3456:7800:a200::/72",
		`${cidrsubnets("10.1.0.0/16", 4, 4, 8, 4)}`: []any{"10.1.0.0/20", "10.1.16.0/20", "10.1.32.0/24",
			"10.1.48.0/20"},
		`${length(self.files)}${length("é")}${length({})}`: "210",
		`${sum([1, 2.5])}`: 3.5,
		`${alltrue([true, false])}${anytrue([true, false])}`: "falsetrue",
		`${one(["x"])}`:                     "x",
		`${try(self.extra.missing, "d")}`:   "d",
		`${can(self.extra.missing)}`:        false,
		`${tonumber("5")}`:                  int64(5),
		`${tolist(toset(["b", "a", "b"]))}`: []any{"a", "b"},
		`${distinct(["b", "a", "b"])}`:      []any{"b", "a"},
		`${lookup({a = 1}, "b", 2)}`:        int64(2),
		`${merge({a = 1}, {b = 2})}`:        map[string]any{"a": int64(1), "b": int64(2)},
		`${startswith("abc", "ab")}${endswith("abc", "x")}${strcontains("abc", "b")}`: "truefalsetrue",
		`${indent(2, "a\nb")}`:             "a\n  b",
		`${regexall("[a-z]", "a1b")}`:      []any{"a", "b"},
		`${urlencode("a b&c")}`:            "a+b%26c",
		`${setproduct(["a", "b"], ["c"])}`: []any{[]any{"a", "c"}, []any{"b", "c"}},
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			parsed, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := parsed.Evaluate(sampleScope())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got.Value); d != "" {
				t.Error(d)
			}
		})
	}
}

// errorOf returns what is wrong with a template, in parsing or in evaluation.
func errorOf(text string) error {
	parsed, err := Parse(text)
	if err != nil {
		return err
	}
	_, err = parsed.Evaluate(sampleScope())
	return err
}

func TestTemplateErrors(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"syntax": {"a\nb ${self.name +} c", "line 2, column 1"},
		"unknown function": {"${uper(self.name)}",
			`there is no function "uper"; did you mean "upper"? (line 1, column 3`},
		"no file functions":   {`${file("/etc/passwd")}`, `there is no function "file"`},
		"no time":             {`${timestamp()}`, `there is no function "timestamp"`},
		"unknown attribute":   {"${self.nope}", "line 1, column 7"},
		"a wrong argument":    {"x\n  ${upper([1])}", "line 2, column 11"},
		"secrets stay hidden": {"${tonumber(self.password)}", "sensitive"},
		"no text":             {"a ${self.servers}", "line 1, column 5"},
		"deep brackets":       {"${" + strings.Repeat("(", 100000/2) + "}", "levels deep"},
		"deep ifs":            {strings.Repeat("%{ if true }", 1000), "levels deep"},
		"many signs":          {"${" + strings.Repeat("!", 60000) + "true}", "more than 512"},
		"too long":            {strings.Repeat("a", MaxSize+1), "65536 is the most"},
		"a large result": {"%{ for a in range(1000) }%{ for b in range(1000) }0123456789%{ endfor }%{ endfor }",
			"too much"},
		"loops in loops": {
			"${[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : [for d in range(1000) : d]]]]}", "too much"},
		"a wide format":   {`${format("%9999999d", 1)}`, "is the most"},
		"an empty needle": {`${replace(join("", range(1000)), "", join("", range(1000)))}`, "larger than"},
		"a product":       {`${setproduct(range(1000), range(1000), range(1000))}`, "larger than"},
		"divided by zero": {"${1 / 0}", "divided by zero"},
		"a long number":   {"${1e99999999} x", "too much"},
		"a long list":     {"${concat(" + strings.Repeat("range(1000),", 4000) + "[])}", "too much"},
		"shared parts":    {"${[for a in [[for b in range(1000) : range(1000)]] : a == a]}", "too much"},
		"not UTF-8":       {"\xff${1}", "UTF-8"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			err := errorOf(tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("shows a sensitive value: %v", err)
			}
			if took := time.Since(begin); took > 2*time.Minute {
				t.Errorf("took %s", took)
			}
		})
	}
}

// BenchmarkEvaluate makes the text of a configuration file with a line for each of a hundred servers.
func BenchmarkEvaluate(b *testing.B) {
	values := sampleValues()
	servers := make([]any, 100)
	for i := range servers {
		servers[i] = fmt.Sprintf("10.0.0.%d", i)
	}
	values["servers"] = servers
	scope := NewScope(sample, values, "web", "lon1")
	parsed, err := Parse(
		"%{ for i, s in self.servers ~}\nserver ${s} weight=${i * 10} # ${format(\"%03d\", i)}\n%{ endfor ~}\n")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parsed.Evaluate(scope); err != nil {
			b.Fatal(err)
		}
	}
}
