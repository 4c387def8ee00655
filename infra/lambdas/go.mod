module github.com/slidegate/slidegate/infra/lambdas

go 1.26.0
