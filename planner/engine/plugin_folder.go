package engine

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// ScriptsFolder is the folder of a plugin with the files that its tasks use (fuel.md A4).
const ScriptsFolder = "deployment_scripts"

// maxDocument bounds one document of a plugin, in bytes; the reader of documents reports what is too large of what it
// gets.
const maxDocument = 9 << 20

// maxFiles bounds how many files a plugin brings.
const maxFiles = 10_000

// ReadPlugin reads a plugin from its folder: name and version from metadata.yaml, or the folder's name where there is
// none; tasks from tasks.yaml and deployment_tasks.yaml, of which one must be there; files from deployment_scripts,
// with their paths below it. Nothing outside of the folder is read: a link that leads out of it is an error. The error
// is of type [invalid.Errors] where a document is wrong.
func ReadPlugin(folder string) (p site.Plugin, warnings invalid.Errors, err error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return p, nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return p, nil, fmt.Errorf("the folder of a plugin cannot be opened: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()

	var sources []document.Source
	tasks := false
	for _, name := range append([]string{document.MetadataFile}, document.TaskFiles...) {
		source, found, err := readDocument(root, folder, name)
		if err != nil {
			return p, nil, err
		}
		if found {
			sources = append(sources, source)
			tasks = tasks || name != document.MetadataFile
		}
	}
	if !tasks {
		return p, nil, fmt.Errorf("%s is no plugin: it holds neither %s nor %s", folder, document.TaskFiles[0], document.TaskFiles[1])
	}
	read, err := document.ParsePlugin(sources, filepath.Base(absolute))
	if err != nil {
		return p, nil, err
	}
	p = read.Plugin
	if p.Files, err = readScripts(root); err != nil {
		return p, nil, err
	}
	var errs invalid.Errors
	for _, wrong := range plugin.Validate(p) { // what the files add to what ParsePlugin checked
		errs = append(errs, read.Locate(wrong))
	}
	if len(errs) > 0 {
		return p, nil, errs
	}
	return p, read.Warnings, nil
}

// PluginFiles reads the files of a plugin from its folder, as [ReadPlugin] does; without deployment_scripts there are
// none.
func PluginFiles(folder string) (files map[string]string, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return readScripts(root)
}

// readDocument reads one document of a plugin, if it is there.
func readDocument(root *os.Root, folder, name string) (s document.Source, found bool, err error) {
	data, err := readFile(root, name, maxDocument)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, false, nil
	case errors.Is(err, errTooLarge):
		return s, false, fmt.Errorf("%s is larger than %d bytes; keep data in files below %s, or on the nodes", name,
			maxDocument, ScriptsFolder)
	}
	return document.Source{Name: filepath.Join(folder, name), Data: data}, true, err
}

// readScripts reads the files of a plugin, each in base64.
func readScripts(root *os.Root) (map[string]string, error) {
	files := make(map[string]string)
	if _, err := root.Lstat(ScriptsFolder); errors.Is(err, fs.ErrNotExist) {
		return files, nil
	}
	if _, err := root.Stat(ScriptsFolder); err != nil {
		return nil, explained(root, ScriptsFolder, err)
	}
	total := 0
	err := fs.WalkDir(root.FS(), ScriptsFolder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return nil
		}
		if name == ScriptsFolder {
			return fmt.Errorf("%s is no folder", name)
		}
		data, err := readFile(root, name, plugin.MaxFiles-total)
		if errors.Is(err, errTooLarge) {
			return fmt.Errorf("%s: with it the files of the plugin are larger than %d bytes together; they travel to every node that runs a task of it, so have large things fetched there", name, plugin.MaxFiles)
		}
		if err != nil {
			return err
		}
		total += len(data)
		if len(files) == maxFiles {
			return fmt.Errorf("%s holds more than %d files; a plugin brings scripts and manifests, and fetches the rest from where it is kept", ScriptsFolder, maxFiles)
		}
		below, err := filepath.Rel(ScriptsFolder, name)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(below)] = base64.StdEncoding.EncodeToString(data)
		return nil
	})
	return files, err
}

// errTooLarge says that a file is larger than it may be.
var errTooLarge = errors.New("the file is too large")

// explained says of a name that leads nowhere, or out of the folder, what the operating system's error does not.
func explained(root *os.Root, name string, err error) error {
	var failed *fs.PathError
	if link, is := root.Lstat(name); is == nil && link.Mode()&fs.ModeSymlink != 0 && errors.As(err, &failed) {
		return fmt.Errorf("%s is a link that leads out of the plugin's folder, or nowhere; put what it leads to there", name)
	}
	return err
}

// readFile reads a regular file of at most so many bytes, or what a link to one leads to within the folder. Everything
// else is an error: a device or a pipe would block, or never end.
func readFile(root *os.Root, name string, most int) (data []byte, err error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, explained(root, name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %s; a plugin holds regular files only", name, kindOf(info.Mode()))
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err = io.ReadAll(io.LimitReader(file, int64(most)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > most {
		return nil, errTooLarge
	}
	return data, nil
}

// kinds names what is no regular file.
var kinds = []struct {
	bit  fs.FileMode
	name string
}{{fs.ModeDir, "a link to a folder"}, {fs.ModeNamedPipe, "a pipe"}, {fs.ModeSocket, "a socket"},
	{fs.ModeDevice, "a device"}}

func kindOf(mode fs.FileMode) string {
	for _, k := range kinds {
		if mode&k.bit != 0 {
			return k.name
		}
	}
	return "a special file"
}
