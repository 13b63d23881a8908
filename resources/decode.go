package resources

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// decode reads a known object of the schema's type into its model, which is a pointer to a struct. The framework reads
// the tags of each struct anew for each object, which for a thousand nodes takes longer than planning them.
func decode(ctx context.Context, typ attr.Type, v tftypes.Value, model any) diag.Diagnostics {
	var diags diag.Diagnostics
	value, err := typ.ValueFromTerraform(ctx, v)
	if err != nil {
		diags.AddError("Invalid object", err.Error())
		return diags
	}
	if err := assign(value, reflect.ValueOf(model).Elem()); err != nil {
		diags.AddError("Invalid object", err.Error()+". This is a defect of slipway; please report it.")
	}
	return diags
}

// assign sets a field to a value: a value of the framework as it is, an object to a struct or a pointer to one, a list
// to a slice.
func assign(v attr.Value, field reflect.Value) error {
	if given := reflect.ValueOf(v); given.Type().AssignableTo(field.Type()) {
		field.Set(given)
		return nil
	}
	switch field.Kind() {
	case reflect.Pointer:
		if v.IsNull() {
			field.SetZero()
			return nil
		}
		field.Set(reflect.New(field.Type().Elem()))
		return assign(v, field.Elem())
	case reflect.Slice:
		list, ok := v.(types.List)
		if !ok {
			break
		}
		if v.IsNull() {
			field.SetZero()
			return nil
		}
		elements := list.Elements()
		field.Set(reflect.MakeSlice(field.Type(), len(elements), len(elements)))
		for i, e := range elements {
			if err := assign(e, field.Index(i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.Struct:
		object, ok := v.(types.Object)
		if !ok || v.IsNull() {
			break
		}
		return assignFields(object.Attributes(), field)
	}
	return fmt.Errorf("a %T is no %s", v, field.Type())
}

func assignFields(attributes map[string]attr.Value, model reflect.Value) error {
	fields := fieldsOf(model.Type())
	if len(fields) != len(attributes) {
		return fmt.Errorf("%s has %d fields for %d attributes", model.Type(), len(fields), len(attributes))
	}
	for _, f := range fields {
		a, ok := attributes[f.attribute]
		if !ok {
			return fmt.Errorf("%s has a field for %q, which is no attribute", model.Type(), f.attribute)
		}
		if err := assign(a, model.FieldByIndex(f.index)); err != nil {
			return fmt.Errorf("%s: %w", f.attribute, err)
		}
	}
	return nil
}

// modelField is where an attribute stands in a model, which may have others embedded.
type modelField struct {
	attribute string
	index     []int
}

var modelFields sync.Map // from [reflect.Type] to []modelField

func fieldsOf(model reflect.Type) []modelField {
	if fields, ok := modelFields.Load(model); ok {
		return fields.([]modelField) //nolint:forcetypeassert // nothing else is stored
	}
	var fields []modelField
	for _, f := range reflect.VisibleFields(model) {
		if !f.Anonymous {
			fields = append(fields, modelField{f.Tag.Get("tfsdk"), f.Index})
		}
	}
	modelFields.Store(model, fields)
	return fields
}
