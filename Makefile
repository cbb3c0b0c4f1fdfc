# assay: targets are listed by `make help`
#
# Programs are cmd/NAME.c, found by wildcard: no list is edited to add one.
# Everything built lies in bin/ and build/; SANITIZE=address,undefined or
# SANITIZE=thread builds beside them in build/san-.../.  `make check` and
# `make demo` install missing Debian packages unless DEPS=no.

# Variables of a command line, as in `make V=1 PREFIX=/opt install`:
#
## CC=gcc, CXX=g++, OPT=-O3: compilers and optimization
## PREFIX=/usr/local, DESTDIR=: where `make install` installs
## SANITIZE=address,undefined or thread: build in build/san-.../ with it
## DEPS=no: do not install missing packages
## T=NAME: the one test of unit, kernel, cli, manners and faults
## V=1: print the commands
## FUZZ_SECONDS=60: time for each target of fuzz
## PEERS=DIR/bin/python, DATA=DIR: of bench and check-long (tests/README.md)

PREFIX ?= /usr/local
DEST := $(DESTDIR)$(PREFIX)
CC ?= gcc
CXX ?= g++
VERSION := 0.1.0
comma := ,

ifdef SANITIZE
B := build/san-$(subst $(comma),-,$(SANITIZE))
BIN := $(B)/bin
SANFLAGS := -fsanitize=$(SANITIZE) -fno-omit-frame-pointer \
	-fno-sanitize-recover=all
else
B := build
BIN := bin
endif

NPROC := $(shell nproc)
# A make started without -j uses every processor.
PARALLEL = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(NPROC))

# make V=1 shows the commands.
ifneq ($(V),1)
Q := @
say = @echo "$(1) $@"
endif

OPT ?= -O3
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
CPPFLAGS += -D_GNU_SOURCE -DASSAY_VERSION='"$(VERSION)"' -Icommon -I.
OMP ?= -fopenmp
LDOMP = $(OMP)
# The same numbers on every processor: only files that ask for it, below, fuse
# a multiply with an add.
CFLAGS += -std=gnu11 $(OPT) -g $(WARN) $(OMP) -pthread $(SANFLAGS) \
	-ffp-contract=off
CXXFLAGS += -std=c++17 $(OPT) -g -Wall -Wextra -pthread $(SANFLAGS)
LDFLAGS += $(LDOMP) -pthread $(SANFLAGS) -Wl,--as-needed
LIBS := -lzstd -lz -lsimdjson -lonig -lstdc++ -lm

PROGS := $(patsubst cmd/%.c,$(BIN)/%,$(wildcard cmd/*.c))
COMMON_SRC := $(wildcard common/*/*.c) $(wildcard common/*/*.cc)
KERNEL_SRC := $(wildcard kernels/*.c kernels/ref/*.c kernels/cpu/*.c)
COMMON_OBJ := $(patsubst %,$(B)/%.o,$(basename $(COMMON_SRC)))
KERNEL_OBJ := $(patsubst %,$(B)/%.o,$(basename $(KERNEL_SRC)))
CMD_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard cmd/*.c))
ifeq ($(SANITIZE),thread)	# tests/tsan/omp.c in libgomp's place
KERNEL_OBJ += $(B)/tests/tsan/omp.o
TSAN_TEST := $(B)/tests/tsan/race
LDOMP :=
endif
LIBA := $(B)/libassay.a
LIBK := $(B)/libkernels.a

all: $(PROGS)	## all: build every program into bin/

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(FLAGS_$*) -MMD -MP -c -o $@ $<

$(B)/%.o: %.cc
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -c -o $@ $<

$(LIBA): $(COMMON_OBJ)
	@mkdir -p $(@D)
	$(call say,AR)
	$(Q)rm -f $@; ar rcs $@ $^

$(LIBK): $(KERNEL_OBJ)
	@mkdir -p $(@D)
	$(call say,AR)
	$(Q)rm -f $@; ar rcs $@ $^

# Its products are exact, so that fusing changes nothing but the time.
FLAGS_common/rare/covariance := -ffp-contract=fast

# The vector loops, a file for each instruction set; cpu_open() picks one.
ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine)),)
FLAGS_kernels/cpu/vec_avx2 := -ffp-contract=fast -mavx2 -mfma -mf16c -mbmi \
	-mbmi2
FLAGS_kernels/cpu/vec_avx512 := -ffp-contract=fast -mavx2 -mfma -mbmi -mbmi2 \
	-mavx512f -mavx512bw -mavx512dq -mavx512vl
FLAGS_kernels/cpu/vec_avx512bf16 := $(FLAGS_kernels/cpu/vec_avx512) -mavx512bf16
endif

# Only the programs named lm-* link the kernels and what they need.
$(BIN)/lm-%: $(B)/cmd/lm-%.o $(LIBA) $(LIBK)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(LDFLAGS) -o $@ $< $(LIBA) $(LIBK) $(LIBA) $(LIBS) -ldnnl

$(BIN)/%: $(B)/cmd/%.o $(LIBA)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(LDFLAGS) -o $@ $< $(LIBA) $(LIBS)

# --- tests: each is a program or a script that speaks TAP ---

UNIT := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/*.c))
KERNEL_TESTS := $(patsubst %.c,$(B)/%,$(wildcard tests/kernels/*.c))
FUZZERS := $(patsubst tests/fuzz/targets/%.c,$(B)/tests/fuzz/%,\
	$(wildcard tests/fuzz/targets/*.c))
FAULT_LIB := $(B)/tests/faults/faults.so $(B)/tests/faults/careless
# all.bats and the fault runs hold for every program: one empty file for each
# program names a run of theirs.
EVERY := $(patsubst $(BIN)/%,$(B)/tests/every/%.manners,$(PROGS)) \
	$(patsubst $(BIN)/%,$(B)/tests/every/%.faults,$(PROGS)) \
	$(B)/tests/every/careless.faults
FUZZ_SECONDS ?= 60
TESTS ?= $(TSAN_TEST) $(UNIT) $(KERNEL_TESTS) $(FUZZERS) $(EVERY) \
	$(filter-out tests/cli/all.bats,$(wildcard tests/cli/*.bats))
TESTLIBS := $(LIBA) $(LIBK) $(LIBA) $(LIBS) -ldnnl -lcmocka

$(B)/tests/%: tests/%.c $(LIBA) $(LIBK)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -MMD -MP -MF $@.d -o $@ $< $(TESTLIBS)

$(B)/tests/fuzz/%: tests/fuzz/targets/%.c tests/fuzz/replay.c $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -MMD -MP -MF $@.d -o $@ \
		$< tests/fuzz/replay.c $(LIBA) $(LIBS)

$(B)/tests/faults/faults.so: tests/faults/faults.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 -Wall -Wextra -shared -fPIC -o $@ $<

$(B)/tests/faults/careless: tests/faults/careless.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 -Wall -Wextra -o $@ $<

$(B)/tests/every/%:
	@mkdir -p $(@D)
	@touch $@

check:	## check: install what is missing, build, run the tests
	@$(MAKE) --no-print-directory need
	@$(MAKE) --no-print-directory $(PARALLEL) check-run

# No network, no GPU, nothing outside this folder; the count is the last line.
check-run: all tests
	@TEST_BUILD=$(B) BIN=$(BIN) tests/run -j $(NPROC) $(TESTS)

tests: $(TSAN_TEST) $(UNIT) $(KERNEL_TESTS) $(FUZZERS) $(FAULT_LIB) $(EVERY)

unit: $(B)/tests/unit/$(T)	## unit: run one unit test: make unit T=rng
	$<

kernel: $(B)/tests/kernels/$(T)	## kernel: run one kernel test: make kernel T=matmul
	$<

faults: all $(FAULT_LIB)	## faults: the nth call fails: make faults T=pack
	BIN=$(abspath $(BIN)) TEST_BUILD=$(B) tests/faults/run $(T)

cli: all	## cli: run one command-line test: make cli T=pack
	LC_ALL=C BIN=$(abspath $(BIN)) bats tests/cli/$(T).bats

manners: all	## manners: what holds for every program: make manners T=pack
	PROGRAM=$(T) LC_ALL=C BIN=$(abspath $(BIN)) bats tests/cli/all.bats

lint:	## lint: shellcheck, mandoc, cppcheck and clang-format, where installed
	LC_ALL=C bats tests/cli/lint.bats

# To see that no file assumes x86-64.  The headers of libraries are this
# machine's, after those of the cross compiler; tests/cli/arm64.bats links.
arm64:	## arm64: cross-compile the C files
	@CPPFLAGS='-idirafter /usr/include -idirafter /usr/include/$(shell \
		$(CC) -print-multiarch)' $(MAKE) --no-print-directory \
		B=build/arm64 CC=aarch64-linux-gnu-gcc OPT=-O1 \
		build/arm64/libarm64.a

$(B)/libarm64.a: $(patsubst %.c,$(B)/%.o,$(filter %.c,$(COMMON_SRC)) $(KERNEL_SRC))
	$(call say,AR)
	$(Q)rm -f $@; ar rcs $@ $^

# What `make all tests` would compile, for clangd and clang-tidy.
compile_commands.json: Makefile $(COMMON_SRC) $(KERNEL_SRC)	## compile_commands.json: for clangd
	@$(MAKE) --no-print-directory -Bn V=1 DEPS=no all tests | perl -n \
		-e 'next unless /^\S+ .*-o \S+ +(\S+\.cc?)\b/;' \
		-e '$$file = $$1; chomp; s/(["\\])/\\$$1/g;' \
		-e 'push @c, qq({"directory":"$(CURDIR)",) .' \
		-e 'qq("file":"$$file","command":"$$_"});' \
		-e 'END { print "[\n", join(",\n", @c), "\n]\n" }' > $@

check-long: all tests	## check-long: whole corpora and peers, where they are found
	BIN=$(abspath $(BIN)) tests/peers/long

UCD ?= tests/data/unicode

unicode:	## unicode: make the Unicode tables from the files in UCD
	python3 common/text/gen-unicode.py $(UCD) > common/text/unicode_tab.c.tmp
	mv common/text/unicode_tab.c.tmp common/text/unicode_tab.c

fuzz:	## fuzz: fuzz each reader for FUZZ_SECONDS (60) with clang
	tests/fuzz/run $(FUZZ_SECONDS)

bench: all	## bench: one TSV line each, beside the peer where there is one
	BIN=$(abspath $(BIN)) tests/bench/run

demo:	## demo: install what is missing, build, train a model on real text
	@$(MAKE) --no-print-directory need
	@$(MAKE) --no-print-directory $(PARALLEL) all
	BIN=$(abspath $(BIN)) examples/train/run.sh build/demo

deps:	## deps: install the Debian packages that build and tests need
	tests/deps

need:
ifneq ($(DEPS),no)
	@tests/deps
endif

install: all	## install: programs, manual pages, completions to PREFIX
	install -d $(DEST)/bin $(DEST)/share/bash-completion/completions
	install $(PROGS) $(DEST)/bin
	for s in 1 5 7; do \
		set -- man/*.$$s; [ -e "$$1" ] || continue; \
		install -d $(DEST)/share/man/man$$s && \
		install -m 644 "$$@" $(DEST)/share/man/man$$s || exit 1; \
	done
	install -d $(DEST)/share/zsh/site-functions \
		$(DEST)/share/fish/vendor_completions.d
	for p in $(PROGS); do \
		n=$${p##*/}; \
		$$p --completion bash > $(DEST)/share/bash-completion/completions/$$n && \
		$$p --completion zsh > $(DEST)/share/zsh/site-functions/_$$n && \
		$$p --completion fish > $(DEST)/share/fish/vendor_completions.d/$$n.fish \
		|| exit 1; \
	done

uninstall:	## uninstall: take them away again
	for p in $(notdir $(PROGS)); do \
		rm -f $(DEST)/bin/$$p \
			$(DEST)/share/bash-completion/completions/$$p \
			$(DEST)/share/zsh/site-functions/_$$p \
			$(DEST)/share/fish/vendor_completions.d/$$p.fish; \
	done
	for m in $(notdir $(wildcard man/*.[157])); do \
		rm -f $(DEST)/share/man/man$${m##*.}/$$m; \
	done

clean:	## clean: remove what was built
	rm -rf bin build

help:	## help: list the targets and variables
	@sed -n 's/^[a-z0-9_.-]*:.*## \([a-z0-9_.-]*: .*\)/\1/p' Makefile
	@echo
	@sed -n 's/^## \([A-Z_]*=.*\)/\1/p' Makefile

.PHONY: all check check-run tests unit kernel cli manners faults lint arm64 \
	check-long fuzz unicode bench demo deps need install uninstall clean help
.PRECIOUS: $(B)/%.o
-include $(COMMON_OBJ:.o=.d) $(KERNEL_OBJ:.o=.d) $(CMD_OBJ:.o=.d)
-include $(UNIT:=.d) $(KERNEL_TESTS:=.d) $(FUZZERS:=.d)
