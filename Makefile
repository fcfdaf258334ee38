# The commands of the README and of CONTRIBUTING. Each works from a clean clone.
.PHONY: demo test setup build fmt lint unit fuzz mutation bench peers servers growth reference

CARGO ?= cargo
# Minutes of random schedules in `make fuzz`.
MINUTES ?= 10

# The main job, end to end, with the commands it runs shown as it goes.
demo: setup
	$(CARGO) build --release --locked -p exo-cli
	scripts/demo.sh

# Everything that must hold before a change lands.
test: setup
	scripts/test.sh

setup:
	@scripts/setup.sh

build: setup
	$(CARGO) build --release --locked -p exo-cli

fmt:
	$(CARGO) fmt --all

lint: setup
	scripts/lint.sh

# The tests of the workspace alone, unoptimised.
unit: setup
	$(CARGO) test --workspace --locked

# Random procs under random schedules, held against the interpreter, the front end and compiled C.
fuzz: setup
	$(CARGO) run --release --locked -p exo-tests --bin fuzz -- --schedules 1000000000 --minutes $(MINUTES) --c-every 50

# The test of the tests: which checks of the compiler a test misses when they are switched off.
mutation: setup
	$(CARGO) test --workspace --locked --lib -- --nocapture a_check_that_is_switched_off_is_missed

# The two peer-checked examples here and in Exo, alternating: ratios of time and memory.
bench: setup
	scripts/bench.sh

# What a package manager does each day, here and in cargo and uv, taking turns: medians and ratios.
peers: setup
	scripts/peers.sh

# The registry server beside kellnr, verdaccio and a file server, taking turns: medians and ratios.
servers: setup
	scripts/servers.sh

# How time and memory grow with steps and with statements, and where the time goes.
growth: setup
	$(CARGO) build --release --locked -p exo-cli -p exo-tests --bin exo --bin growth
	EXO_TEST_BINARY=$${CARGO_TARGET_DIR:-target}/release/exo $${CARGO_TARGET_DIR:-target}/release/growth --strict

# Writes docs/reference from the operators.
reference: setup
	$(CARGO) run --locked -p exo-tests --bin reference
