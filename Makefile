# Slidegate. `make` lists the targets; each does its own set-up. Tools land in .cache/, results in dist/.
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MODULES     := . infra infra/lambdas limitgrpc limitotel tools tools/bench
LISTEN      ?= 127.0.0.1:8080
LAMBDAS     ?= $(shell go env GOARCH)
SEED        ?= 1
DECISIONS   ?= 1000000
FUZZ_TIME   ?= 30s
ENGINES     ?= ministack dynoxide
BIN         := $(CURDIR)/.cache/bin
LINTERS     := staticcheck unparam revive actionlint
ACTIONS     := .github/workflows/*.yml .github/actions/*/action.yml
LOCAL       := localstack/with.sh
EMBEDDED    := cmd/slidegate/internal/aws/embedded/files
# Tests leave the processor to the local AWS, which then answers in time.
TEST        := nice go test -vet=off

# The packages in which goroutines share most. The workflow runs the race
# detector on all.
RACE        := $(addprefix ./internal/,store/dynamo store/memory store/breaker kit/clock kit/cache decide/engine observe/telemetry)

export CGO_ENABLED := 0
export GOFLAGS     := $(GOFLAGS) -trimpath

# To try and to test, Go builds in half the time: without debuggers' data, with
# less garbage collection, and with clients of stores as they are written.
LEAN := '-gcflags=all=-dwarf=false' '-ldflags=-s -w' '-gcflags=github.com/aws/...=-dwarf=false -l -N' '-gcflags=github.com/redis/...=-dwarf=false -l -N'
run lint test test-wide: export GOFLAGS += $(LEAN)
lint test test-wide: export GOGC := 400
dist/slidegate build: export GOGC := off
dist/slidegate build: export GOMEMLIMIT := 1GiB

.DEFAULT_GOAL := help
.PHONY: help run build test test-wide lint scan api bench sim engines fuzz pictures site zips release-files image constructs check-release e2e e2e-aws deploy local-deploy local-down release

help:
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: dist/slidegate ## serve examples/rules.yaml at LISTEN=127.0.0.1:8080; needs only Go
	@printf '%s\n' '' 'In another terminal, see a client being limited:' '' \
		"  for i in \$$(seq 12); do curl -si http://$(LISTEN)/ | grep -iE '^(HTTP|RateLimit:|Retry-After)'; done" '' \
		'and replay four recorded days against other rules:' '' \
		'  dist/slidegate replay examples/traffic/apache-access-2015.log.gz --rules examples/traffic/per-ip-10-per-minute.yaml' ''
	@exec dist/slidegate serve --rules examples/rules.yaml --listen $(LISTEN)

# Once `make build` has made Lambdas, the command keeps them.
.PHONY: dist/slidegate # go build knows better than make what is out of date
dist/slidegate:
	@localstack/require.sh go
	go build$(if $(wildcard $(EMBEDDED)/*.zip), -tags release) -o $@ ./cmd/slidegate

build: ## build the command with the Lambdas of this machine, or of LAMBDAS=arm64, in dist/; needs only Go
	@localstack/require.sh go
	@echo 'build dist/authorizer_$(LAMBDAS).zip and dist/operations_$(LAMBDAS).zip'
	@rm -f $(EMBEDDED)/*.zip
	@cd infra && go run ./lambdazip -goarch $(LAMBDAS) -o ../dist authorizer operations
	@cp dist/{authorizer,operations}_$(LAMBDAS).zip infra/template/template.json $(EMBEDDED)
	@cp infra/template/template.json dist
	@echo 'build dist/slidegate with them in it'
	@go build -tags release -ldflags='-s -w' -o dist/slidegate ./cmd/slidegate

test: ## run the tests: unit, race, DynamoDB engine, CDK synthesis, end to end
	@localstack/require.sh go cc node npm python systemd
	@$(MAKE) --no-print-directory -j6 install-cdk install-aws install-redis install-proxies install-clients install-schemas compile
	@$(MAKE) --no-print-directory -j2 -Otarget test-e2e test-others

# What `make test` downloads goes on while Go compiles. go list -export compiles
# every package, but does not link the programs, as go build would.
.PHONY: install-cdk install-aws install-redis install-proxies install-clients install-schemas compile
install-cdk:
	@infra/cdk.sh --version >/dev/null
install-aws:
	@$(LOCAL) true
install-redis:
	@localstack/redis.sh >/dev/null
install-proxies:
	@localstack/proxies.sh >/dev/null
install-clients:
	@localstack/clients.sh >/dev/null
install-schemas:
	@localstack/schemas.sh >/dev/null
compile:
	@go list -export ./... >/dev/null
	@cd infra && go list -export ./... >/dev/null

# The parts of `make test`. Deployments have a local AWS of their own, because
# MiniStack answers nobody else while it makes resources. The others need
# another at AWS_ENDPOINT_URL. The simulation runs in test-race alone. The first two packages
# of test-rest wait most of the time, so it runs three at a time.
.PHONY: test-e2e test-others test-race test-rest test-modules
test-e2e:
	@LOCALSTACK_STATE=$(CURDIR)/.cache/localstack-e2e $(LOCAL) $(TEST) -count=1 -tags e2e ./localstack/e2e
test-others:
	@MAKEFLAGS= $(LOCAL) $(MAKE) --no-print-directory -j3 -Otarget test-race test-rest test-modules
test-race:
	CGO_ENABLED=1 $(TEST) -race $(RACE)
	CGO_ENABLED=1 $(TEST) -race -run '^TestSimulation$$' ./internal/test/outage
test-rest:
	$(TEST) -p 3 -skip '^TestSimulation$$' ./cmd/slidegate/internal/cli ./internal/test/outage $(filter-out $(shell go list $(RACE)),$(shell go list ./...))
test-modules:
	@for module in infra infra/lambdas; do (cd $$module && $(TEST) ./...) || exit; done
	@cd tools && $(TEST) -count=1 ./image # it packs the command, which the cache of tests does not see

# What `make test` leaves out, but for `make e2e` and `make check-release`: see
# docs/testing.md.
WIDE = $(addprefix ./,$(sort $(dir $(shell grep -rl --include=*_test.go 'flag.Bool."wide"' internal cmd examples))))
test-wide: ## run what `make test` leaves out: more random calls, other modules, a browser
	@localstack/require.sh go cc node npm python
	@localstack/redis.sh >/dev/null
	@localstack/proxies.sh >/dev/null
	@localstack/clients.sh >/dev/null
	@$(LOCAL) $(TEST) -count=1 -timeout 1h $(WIDE) -wide
	@for module in limitgrpc limitotel; do (cd $$module && CGO_ENABLED=1 $(TEST) -race -count=1 ./...) || exit; done
	@cd tools/bench && $(CURDIR)/$(LOCAL) $(TEST) -count=1 -bench . -benchtime 1x ./...

lint: $(BIN)/lint $(BIN)/links $(LINTERS:%=$(BIN)/%) ## check formatting, Go code in every module, sizes, the exported API, links between pages, and the CI workflow
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
		[[ -z $$unformatted ]] || { echo "not formatted; run gofmt -w on:" >&2; echo "$$unformatted" >&2; exit 1; }
	@for module in $(MODULES); do echo "lint $$module"; ( cd $$module && \
		go mod tidy -diff && \
		go vet -tags e2e ./... && \
		go vet -tags e2e -vettool=$(BIN)/lint ./... && \
		$(BIN)/staticcheck -tags e2e ./... && \
		GOFLAGS="$$(go env GOFLAGS) -tags=e2e" $(BIN)/unparam ./... && \
		$(BIN)/revive -config $(CURDIR)/tools/lint/revive.toml ./... ) || exit; done
	@$(TEST) -count=1 -run '^TestSize$$' ./internal/test/deps
	@cd tools && $(TEST) -count=1 ./api ./links # they read other modules, which the cache of tests does not see
	@$(BIN)/links .
	@$(BIN)/actionlint .github/workflows/*.yml
	@! grep -n 'uses: ' $(ACTIONS) | grep -Ev 'uses: (\./|[^@ ]+@[0-9a-f]{40} # v[0-9.]+$$)' || \
		{ echo 'name the commit of each action, and its version: uses: actions/checkout@COMMIT # v7.0.1' >&2; exit 1; }

# Known vulnerabilities come from the Go project's server, so lint does without.
scan: $(BIN)/govulncheck ## check each module for known vulnerabilities in what it calls; needs the internet
	@for module in $(MODULES) tools/goreleaser; do echo "scan $$module"; (cd $$module && $(BIN)/govulncheck ./...) || exit; done

$(BIN)/lint $(BIN)/links: $(BIN)/%: tools/go.mod tools/go.sum $(wildcard tools/lint/*.go tools/links/*.go)
	@localstack/require.sh go
	cd tools && go build -o $@ ./$*

# The linters' versions are in tools/go.mod.
$(BIN)/%: tools/go.mod tools/go.sum
	@localstack/require.sh go
	cd tools && go build -o $@ $$(go list tool | grep '/$*$$')

api: ## record the exported API in tools/api/testdata; a test compares it
	cd tools && go test ./api -update

bench: ## compare with other limiters, proxies and bare operations; ONLY=Serve for one table; PAGE=docs/performance.md writes all there
	@localstack/require.sh go python
	@localstack/redis.sh >/dev/null
	@localstack/proxies.sh >/dev/null
	@mkdir -p dist && $(if $(ONLY),,localstack/engine.sh dynoxide) tools/bench/bench.sh $(ONLY) | tee dist/bench.md
	@[[ -z '$(PAGE)' ]] || sed -i -e '/^<!-- make bench -->$$/,/^<!-- end -->$$/{//!d}' -e '/^<!-- make bench -->$$/r dist/bench.md' '$(PAGE)'

sim: ## simulate a fleet with faults: make sim SEED=1 DECISIONS=1000000
	@localstack/require.sh go
	GOGC=400 go test -count=1 -timeout 0 -v -run '^TestSimulation$$' ./internal/test/outage -sim.seed=$(SEED) -sim.decisions=$(DECISIONS)

# `make test` runs a tenth of the random calls on an engine, and replays less of the log.
engines: ## run the DynamoDB store, the rules table and the Apache log on two engines, or on ENGINES=dynoxide
	@localstack/require.sh go
	@localstack/redis.sh >/dev/null
	@failed=; for engine in $(ENGINES); do echo "engine $$engine"; \
		localstack/engine.sh $$engine sh -c 'go test -count=1 ./internal/rules/ruletable && \
			go test -count=1 ./internal/store/dynamo -wide && go test -count=1 -run "^TestApacheLog$$" ./cmd/slidegate/internal/cli -wide' || failed+=" $$engine"; done; \
		[[ -z $$failed ]] || { echo "engines: tests failed on:$$failed" >&2; exit 1; }

pictures: # draw docs/pictures: what each algorithm allows of a burst, and the first minute in a terminal
	@localstack/require.sh go
	go run ./cmd/slidegate/internal/traffic/pictures docs/pictures
	docs/pictures/first-minute.sh

fuzz: ## run every fuzz target for FUZZ_TIME=30s
	@localstack/require.sh go
	@grep -rho --include='*_test.go' '^func Fuzz[A-Za-z]*' --with-filename cmd internal limitlambda | sed 's|/[^/]*:func | |' | while read -r package target; do \
		echo "fuzz $$package $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ_TIME) ./$$package; done

# Another Go, or other flags, give other bytes. functions/backend is the sample's,
# and not released.
zips release-files image check-release pack: export GOTOOLCHAIN = $(shell awk '$$1 == "toolchain" { print $$2 }' go.mod)
zips release-files image: export GOFLAGS = -trimpath
zips: ## build the Lambdas' zips for infra, of both architectures, in infra/lambdas/zips; RULES=FILE adds rules to the authorizer's
	@localstack/require.sh go
	cd infra && for goarch in arm64 amd64; do \
		go run ./lambdazip -goarch $$goarch -o lambdas/zips $(if $(RULES),-rules $(abspath $(RULES))) authorizer && \
		go run ./lambdazip -goarch $$goarch -o lambdas/zips operations; done

# What tools/goreleaser.yaml packs with the command, and into it.
release-files: zips
	@rm -rf dist/files && mkdir -p dist/files/completions
	cp docs/rules.schema.json dist/files/
	cd infra && go run . -version $(or $(VERSION),v0.0.0-dev) -template ../dist/files/template.json
	cp infra/lambdas/zips/*.zip dist/files/template.json $(EMBEDDED)
	for name in authorizer operations; do python3 -m zipfile -e infra/lambdas/zips/$${name}_arm64.zip dist/files/$$name; done # for lists of contents
	go build -tags release -o dist/slidegate ./cmd/slidegate # carries the files, as that of a release does
	dist/slidegate completion bash >dist/files/completions/slidegate.bash
	dist/slidegate completion zsh >dist/files/completions/_slidegate
	dist/slidegate completion fish >dist/files/completions/slidegate.fish
	dist/slidegate completion powershell >dist/files/completions/slidegate.ps1

# These builds are the same as those of tools/goreleaser.yaml, to the byte.
image: release-files ## pack the command as a container image for amd64 and arm64, in dist/files/slidegate_image.tar
	for goarch in amd64 arm64; do GOOS=linux GOARCH=$$goarch go build -tags release -buildvcs=true -ldflags='-s -w' -o dist/image/$$goarch/slidegate ./cmd/slidegate; done
	cd tools && go run ./image ../dist/files/slidegate_image.tar ../LICENSE ../dist/image/{amd64,arm64}/slidegate

constructs: zips ## pack the construct for TypeScript and Python, in dist/constructs; needs Node 22 and Python 3.10
	@mkdir -p dist/files && cp infra/template/template.json dist/files
	@infra/constructs/build.sh $(VERSION)

check-release: $(BIN)/goreleaser $(BIN)/cyclonedx-gomod ## pack a release as a snapshot in dist/release, and check what strangers get of it
	PATH=$(BIN):$$PATH goreleaser release -f tools/goreleaser.yaml --snapshot --clean
	@infra/constructs/build.sh
	@cd tools && go test -count=1 -v ./image -image $(CURDIR)/dist/files/slidegate_image.tar
	@$(LOCAL) sh -c 'cd tools && go test -tags e2e -count=1 -v -timeout 1h ./release -dist $(CURDIR)/dist/release'
	@$(LOCAL) go test -tags e2e -count=1 -v ./examples/attach
	@docs/site/build.sh

# The workflow `release` runs this at a tag, and publishes dist/publish. The zips
# must be those that the module has.
.PHONY: pack
pack: export GORELEASER_CURRENT_TAG = $(VERSION)
pack: $(BIN)/goreleaser $(BIN)/cyclonedx-gomod zips
	@for zip in infra/lambdas/zips/*.zip; do git show infra/lambdas/$(VERSION):$$zip | cmp - $$zip; done
	@mkdir -p dist
	@sed '1,/^## \[$(VERSION:v%=%)\]/d; /^## \[/,$$d' CHANGELOG.md >dist/notes.md
	PATH=$(BIN):$$PATH goreleaser release -f tools/goreleaser.yaml --clean --skip=publish
	@rm -rf dist/publish && mkdir dist/publish
	cd dist/release && cp SHA256SUMS *.tar.gz *.zip *.cdx.json ../files/*.json ../files/*.tar ../../infra/lambdas/zips/*.zip ../publish
	cd dist/publish && sha256sum --check --strict SHA256SUMS

$(BIN)/goreleaser $(BIN)/cyclonedx-gomod: $(BIN)/%: tools/goreleaser/go.mod tools/goreleaser/go.sum
	@localstack/require.sh go
	cd tools/goreleaser && go build -o $@ $$(go list tool | grep -E '/$*(/v[0-9]+)?$$')

site: ## build the site from docs into dist/site; a warning is an error; needs Python 3.11
	@docs/site/build.sh

local-deploy: ## deploy the sample stack to the local AWS, leave it running, and print its address
	@localstack/deploy.sh

local-down: ## stop the local AWS
	@localstack/down.sh

e2e: ## deploy to the local AWS, send traffic through API Gateway, and do what `make test` leaves out: lose a table, remove rights
	@localstack/require.sh go node npm python
	@env -u AWS_ENDPOINT_URL $(LOCAL) true # whatever emulator it is, some tests start a MiniStack that evaluates policies
	@$(LOCAL) go test -count=1 -v -timeout 20m -tags e2e ./localstack/e2e -wide

e2e-aws: ## deploy to the AWS account of your credentials, check what emulators cannot show, and remove it all; asks, unless YES=1
	@YES=$(YES) localstack/e2e-aws.sh

deploy: sample ## deploy the sample stack, with examples/rules.yaml, to the AWS account of your credentials
	cd infra && ./cdk.sh deploy --outputs-file ../dist/outputs.json

.PHONY: sample
sample: # the Lambdas of the sample stack, for arm64, in dist/
	@localstack/require.sh go
	cd infra && go run ./lambdazip -o ../dist authorizer operations backend

release: ## check that HEAD may be VERSION=v0.2.0 of every published module, and tag it
	@tools/release/release.sh "$(VERSION)"
