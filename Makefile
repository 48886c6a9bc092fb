# The front door. Meson and ninja do the work; tools/deps installs what is missing.
BUILD ?= build

.PHONY: run build web check test bench lint format install uninstall tarball deb rpm wheel recipes windows macos release-check soak docs clean

# The program alone, without its tests: half of the build. On a terminal ninja shows how far it is.
run: $(BUILD)/build.ninja
	@test -x $(BUILD)/whirr || echo "Building whirr; this takes a minute or two the first time."
	@ninja -C $(BUILD) $$(test -t 1 || echo --quiet) whirr
	@tools/run $(BUILD)/whirr

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet

# The packages of the dashboard, from the npm registry; the first `make build` fetches them. Without them everything else is built.
web:
	@tools/web

$(BUILD)/build.ninja:
	@tools/deps build
	@tools/web || true
	@meson setup $(BUILD) --warnlevel 3 >/dev/null

check:
	@tools/deps build test
	@tools/test --quick

test:
	@tools/deps build test
	@tools/test

bench: build
	@tools/deps bench
	@tools/bench $(if $(AS),--as $(AS)) $(BUILD)

lint:
	@tools/deps build test
	@tools/lint

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i
	@tools/web && git ls-files '*.ts' '*.tsx' '*.mjs' | xargs node web/node_modules/prettier/bin/prettier.cjs --config web/.prettierrc.json --log-level warn --write

# PREFIX and DESTDIR as elsewhere; without PREFIX, the one that the build has (at first /usr/local).
PLACE = $(if $(PREFIX),meson configure $(BUILD) -Dprefix=$(abspath $(PREFIX)) && ninja -C $(BUILD) --quiet)

install: build
	@$(PLACE)
	@DESTDIR='$(DESTDIR)' meson install -C $(BUILD) --no-rebuild

uninstall:
	@$(PLACE)
	@DESTDIR='$(DESTDIR)' tools/uninstall $(BUILD)

tarball deb rpm wheel recipes windows macos:
	@tools/deps package
	@tools/package $@

release-check: build
	@tools/deps package release
	@tools/release-check

docs:
	@tools/deps docs
	@tools/docs $(BUILD)/site

soak: build
	@tools/deps test
	@tools/soak --minutes $(or $(MINUTES),60) --seed $(or $(SEED),1) --build $(BUILD)

clean:
	rm -rf $(BUILD) build-* dist
