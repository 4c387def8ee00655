package ruledoc

import "reflect"

// copyOf returns a copy that shares no memory with the original.
func copyOf[T any](v *T) *T {
	return deepCopy(reflect.ValueOf(v)).Interface().(*T)
}

func deepCopy(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v.IsNil() {
			return v
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(deepCopy(v.Elem()))
		return out
	case reflect.Slice:
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(deepCopy(v.Index(i)))
		}
		return out
	case reflect.Map:
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			out.SetMapIndex(key, deepCopy(value))
		}
		return out
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v) // for unexported fields, such as those of time.Time
		for i := range v.NumField() {
			if field := out.Field(i); field.CanSet() {
				field.Set(deepCopy(v.Field(i)))
			}
		}
		return out
	}
	return v
}
