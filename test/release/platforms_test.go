package release

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/slipway/terraform-provider-slipway"

// The provider runs on machines that cannot be nodes. Its packages are checked for each of them; of what they import
// only the declarations, as compiling all of it takes minutes.
func TestEveryPlatform(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, platform := range []string{"darwin", "windows", "freebsd"} {
		t.Run(platform, func(t *testing.T) {
			loaded, err := packages.Load(&packages.Config{
				Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax |
					packages.NeedTypes | packages.NeedTypesInfo,
				Dir: root,
				Env: append(os.Environ(), "GOOS="+platform, "GOARCH=amd64", "CGO_ENABLED=0"),
				ParseFile: func(set *token.FileSet, name string, source []byte) (*ast.File, error) {
					file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
					if file != nil && !strings.HasPrefix(name, root+string(filepath.Separator)) {
						for _, d := range file.Decls {
							if f, is := d.(*ast.FuncDecl); is {
								f.Body = nil
							}
						}
					}
					return file, err
				},
			}, ".")
			if err != nil {
				t.Fatal(err)
			}
			checked := 0
			packages.Visit(loaded, nil, func(p *packages.Package) {
				if p.PkgPath != module && !strings.HasPrefix(p.PkgPath, module+"/") {
					return
				}
				checked++
				for _, e := range p.Errors {
					t.Errorf("%s: %s", p.PkgPath, e)
				}
			})
			if checked < 40 {
				t.Errorf("%d packages of slipway were checked: too few", checked)
			}
		})
	}
}
