# assay: targets are listed by `make help`
#
# Programs are cmd/NAME.c, found by wildcard: no list is edited to add one.
# Everything built lies in bin/ and build/; SANITIZE=address,undefined or
# SANITIZE=thread builds beside them in build/SANITIZE/.

PREFIX ?= /usr/local
CC ?= gcc
CXX ?= g++
VERSION := 0.1.0
comma := ,

ifdef SANITIZE
B := build/san-$(subst $(comma),-,$(SANITIZE))
BIN := $(B)/bin
SANFLAGS := -fsanitize=$(SANITIZE) -fno-omit-frame-pointer
else
B := build
BIN := bin
endif

OPT ?= -O3
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
CPPFLAGS += -D_GNU_SOURCE -DASSAY_VERSION='"$(VERSION)"' -Icommon -I.
CFLAGS += -std=gnu11 $(OPT) -g $(WARN) -fopenmp -pthread $(SANFLAGS)
CXXFLAGS += -std=c++17 $(OPT) -g -Wall -Wextra -pthread $(SANFLAGS)
LDFLAGS += -fopenmp -pthread $(SANFLAGS) -Wl,--as-needed
LIBS := -lzstd -lz -lsimdjson -lpcre2-8 -lutf8proc -lstdc++ -lm

PROGS := $(patsubst cmd/%.c,$(BIN)/%,$(wildcard cmd/*.c))
COMMON_SRC := $(wildcard common/*/*.c) $(wildcard common/*/*.cc)
KERNEL_SRC := $(wildcard kernels/*.c kernels/ref/*.c kernels/cpu/*.c)
COMMON_OBJ := $(patsubst %,$(B)/%.o,$(basename $(COMMON_SRC)))
KERNEL_OBJ := $(patsubst %,$(B)/%.o,$(basename $(KERNEL_SRC)))
CMD_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard cmd/*.c))
LIBA := $(B)/libassay.a
LIBK := $(B)/libkernels.a

all: $(PROGS)	## all: build every program into bin/

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(FLAGS_$(notdir $*)) -MMD -MP -c -o $@ $<

$(B)/%.o: %.cc
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -c -o $@ $<

$(LIBA): $(COMMON_OBJ)
	@mkdir -p $(@D)
	rm -f $@; ar rcs $@ $^

$(LIBK): $(KERNEL_OBJ)
	@mkdir -p $(@D)
	rm -f $@; ar rcs $@ $^

# Random numbers are the same on every processor: no fused multiply-add.
FLAGS_rng := -ffp-contract=off

# Only the programs named lm-* link the kernels and what they need.
$(BIN)/lm-%: $(B)/cmd/lm-%.o $(LIBA) $(LIBK)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $< $(LIBA) $(LIBK) $(LIBA) $(LIBS) -ldnnl

$(BIN)/%: $(B)/cmd/%.o $(LIBA)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $< $(LIBA) $(LIBS)

clean:	## clean: remove what was built
	rm -rf bin build

help:	## help: this list
	@sed -n 's/^[a-z-]*:.*## \([a-z-]*: .*\)/\1/p' $(MAKEFILE_LIST)

.PHONY: all clean help
.PRECIOUS: $(B)/%.o
-include $(COMMON_OBJ:.o=.d) $(KERNEL_OBJ:.o=.d) $(CMD_OBJ:.o=.d)
