package converge

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// fill puts a text into every field of v, also those that are not there yet.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), text)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), text)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text)
		fill(value, text)
		v.SetMapIndex(key, value)
	}
}

// No text of a message, in whatever field, keeps what acts on a terminal.
func TestAMessageIsLegible(t *testing.T) {
	var m Message
	fill(reflect.ValueOf(&m).Elem(), "\x1b]0;owned\anode\u202e")
	m.Legible()
	line, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, act := range []string{`\u001b`, `\u0007`, "\u202e"} {
		if strings.Contains(string(line), act) {
			t.Errorf("%s is left in %s", act, line)
		}
	}
	if n := strings.Count(string(line), "node"); n < 15 {
		t.Errorf("only %d texts are left in %s", n, line)
	}
}
