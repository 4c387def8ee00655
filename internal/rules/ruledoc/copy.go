package ruledoc

import "reflect"

// copyOf returns a copy that shares no memory with the original.
func copyOf[T any](v *T) *T {
	return deepCopy(reflect.ValueOf(v)).Interface().(*T)
}

func deepCopy(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v) // for unexported fields, such as those of time.Time
	switch kind := v.Kind(); {
	case kind == reflect.Struct:
		for i := range v.NumField() {
			if field := out.Field(i); field.CanSet() {
				field.Set(deepCopy(v.Field(i)))
			}
		}
	case kind == reflect.Pointer && !v.IsNil():
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(deepCopy(v.Elem()))
	case kind == reflect.Slice && !v.IsNil():
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(deepCopy(v.Index(i)))
		}
	case kind == reflect.Map && !v.IsNil():
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for key, value := range v.Seq2() {
			out.SetMapIndex(key, deepCopy(value))
		}
	}
	return out
}
