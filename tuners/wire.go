package tuners

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	tunerv1 "github.com/fedfast/fedfast/tuners/internal/proto"
)

// carried turns one of the SDK's types into the protocol's message, or back: both have fields of
// the same names, which hold the same. Reading checks only that a message can be understood;
// whether its content is allowed is the host's business.
func carried[T any](from any) (to T) {
	carry(reflect.ValueOf(&to).Elem(), reflect.ValueOf(from))
	return to
}

// carry copies a value of one side to the other one's type. A message of one field stands for
// what that holds, as Params does for a map, and nothing for a nil pointer.
func carry(to, from reflect.Value) {
	special := specials[from.Type()]
	switch {
	case special != nil:
		special(to, from)
	case from.Type() == to.Type():
		to.Set(from)
	case from.Kind() == reflect.Pointer && from.IsNil():
	case to.Kind() == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		carry(to.Elem(), from)
	case from.Kind() == reflect.Pointer:
		carry(to, from.Elem())
	case from.Kind() == reflect.Struct && to.Kind() == reflect.Struct:
		carryFields(to, from)
	case to.Kind() == reflect.Struct:
		carry(onlyField(to), from)
	case from.Kind() == reflect.Struct:
		carry(to, onlyField(from))
	case from.Kind() == reflect.Slice:
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			carry(to.Index(i), from.Index(i))
		}
	case from.Kind() == reflect.Map:
		to.Set(reflect.MakeMapWithSize(to.Type(), from.Len()))
		for at := from.MapRange(); at.Next(); {
			x := reflect.New(to.Type().Elem()).Elem()
			carry(x, at.Value())
			to.SetMapIndex(at.Key(), x)
		}
	case from.Kind() == reflect.Bool: // whether a Direction is Maximize
		to.Set(reflect.ValueOf(map[bool]Direction{true: Maximize}[from.Bool()]))
	case to.Kind() == reflect.Bool:
		to.SetBool(from.Interface() == Maximize)
	default: // a number
		to.Set(from.Convert(to.Type()))
	}
}

// specials are the types whose two sides differ in more than names.
var specials map[reflect.Type]func(to, from reflect.Value)

func init() { // they carry, too
	specials = map[reflect.Type]func(to, from reflect.Value){
		reflect.TypeFor[Value](): func(to, from reflect.Value) {
			to.Set(reflect.ValueOf(valueToWire(from.Interface().(Value))))
		},
		reflect.TypeFor[*tunerv1.Value](): func(to, from reflect.Value) {
			to.Set(reflect.ValueOf(valueFromWire(from.Interface().(*tunerv1.Value))))
		},
		reflect.TypeFor[Params](): func(to, from reflect.Value) {
			to.Set(reflect.ValueOf(paramsToWire(from.Interface().(Params))))
		},
		reflect.TypeFor[*tunerv1.Params](): func(to, from reflect.Value) {
			to.Set(reflect.ValueOf(paramsFromWire(from.Interface().(*tunerv1.Params))))
		},
		reflect.TypeFor[DimKind](): func(to, from reflect.Value) {
			to.SetInt(int64(max(0, slices.Index(dimKinds, DimKind(from.String())))))
		},
		reflect.TypeFor[tunerv1.Dim_Kind](): func(to, from reflect.Value) {
			if k := from.Int(); k > 0 && k < int64(len(dimKinds)) {
				to.SetString(string(dimKinds[k]))
			}
		},
		reflect.TypeFor[Dim](): func(to, from reflect.Value) {
			d := from.Interface().(Dim)
			if d.Step != 0 { // a tuner that knows no steps picks legal values
				for s := d.Lo; s <= d.Hi; s++ {
					d.Choices = append(d.Choices, d.Value(s))
				}
				d.Kind, d.Lo, d.Hi = Choice, 0, 0
			}
			to.Set(reflect.New(to.Type().Elem()))
			carryFields(to.Elem(), reflect.ValueOf(d))
		},
	}
}

// dimKinds are the kinds of dimensions by their numbers in the protocol, 0 for none.
var dimKinds = []DimKind{"", Uniform, Log10, Log10OneMinus, Int, Log2, Choice}

func valueToWire(v Value) *tunerv1.Value {
	switch v.kind {
	case NumValue:
		return &tunerv1.Value{Kind: &tunerv1.Value_Number{Number: v.num}}
	case StrValue:
		return &tunerv1.Value{Kind: &tunerv1.Value_Text{Text: v.str}}
	case BoolValue:
		return &tunerv1.Value{Kind: &tunerv1.Value_Truth{Truth: v.num == 1}}
	case NoneValue:
	}
	return &tunerv1.Value{}
}

func valueFromWire(v *tunerv1.Value) Value {
	switch k := v.GetKind().(type) {
	case *tunerv1.Value_Number:
		return Num(k.Number)
	case *tunerv1.Value_Text:
		return Str(k.Text)
	case *tunerv1.Value_Truth:
		return Bool(k.Truth)
	}
	return Value{}
}

// The params of all clients of a round are many, so they go by plain loops.

func paramsToWire(p Params) *tunerv1.Params {
	m := make(map[string]*tunerv1.Value, len(p))
	for k, v := range p {
		m[k] = valueToWire(v)
	}
	return &tunerv1.Params{Values: m}
}

func paramsFromWire(p *tunerv1.Params) Params {
	if p == nil {
		return nil
	}
	m := make(Params, len(p.GetValues()))
	for k, v := range p.GetValues() {
		m[k] = valueFromWire(v)
	}
	return m
}

// fieldsOf returns the places of a struct's exported fields by the names that both sides have.
func fieldsOf(t reflect.Type) map[string]int {
	all := map[string]int{}
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			all[strings.ToLower(cmp.Or(otherNames[f.Name], f.Name))] = i
		}
	}
	return all
}

// onlyField is the one field of a message.
func onlyField(v reflect.Value) reflect.Value {
	for _, i := range fieldsOf(v.Type()) {
		return v.Field(i)
	}
	panic("tuners: a message without fields")
}

// places has by the types of two structs where each lies of the fields that both have.
var places sync.Map

// carryFields copies the fields that both structs have, but for what is nil.
func carryFields(to, from reflect.Value) {
	types := [2]reflect.Type{to.Type(), from.Type()}
	known, ok := places.Load(types)
	if !ok {
		var both [][2]int
		theirs := fieldsOf(types[0])
		for name, i := range fieldsOf(types[1]) {
			if k, ok := theirs[name]; ok {
				both = append(both, [2]int{k, i})
			}
		}
		known, _ = places.LoadOrStore(types, both)
	}
	for _, at := range known.([][2]int) {
		f := from.Field(at[1])
		if kind := f.Kind(); kind != reflect.Map && kind != reflect.Slice || !f.IsNil() {
			carry(to.Field(at[0]), f)
		}
	}
}

// otherNames are the protocol's names of fields that have others in the SDK.
var otherNames = map[string]string{"Direction": "Maximize", "LocalSearch": "Local"}

// workFromWire takes what a tuner tells of its work; what cannot be is nothing.
func workFromWire(w *tunerv1.ValidateReply_Work) Work {
	k := carried[Work](w)
	k.Trials, k.Rounds, k.Clients = max(0, k.Trials), max(0, k.Rounds), max(0, k.Clients)
	if !(k.Examples >= 0 && k.Examples <= math.MaxInt32) {
		k.Examples = 0
	}
	return k
}
