module github.com/slidegate/slidegate/examples/grpc

go 1.26.0

require (
	github.com/slidegate/slidegate v0.1.0
	github.com/slidegate/slidegate/slidegategrpc v0.1.0
	google.golang.org/grpc v1.85.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/gaissmai/bart v0.30.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/slidegate/slidegate => ../..

replace github.com/slidegate/slidegate/slidegategrpc => ../../slidegategrpc
