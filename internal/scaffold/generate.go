package scaffold

//go:generate sh -c "protoc -Ifedfast_tuner=../../tuners/proto --python_out=python --plugin=protoc-gen-grpc_python=$(command -v grpc_python_plugin) --grpc_python_out=python fedfast_tuner/tuner.proto"
//go:generate cp ../../plugins/examples/coordinate/go.mod golang/go.mod.txt
//go:generate cp ../../plugins/examples/coordinate/go.sum golang/go.sum.txt
