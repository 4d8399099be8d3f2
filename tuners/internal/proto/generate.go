// Package tunerv1 is the generated Go of fedfast.tuner.v1. Authors and the host use
// package tuners instead.
package tunerv1

//go:generate sh -c "protoc -I../../proto --plugin=protoc-gen-go=$(go tool -n protoc-gen-go) --plugin=protoc-gen-go-grpc=$(go tool -n protoc-gen-go-grpc) --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative tuner.proto"
