#!/usr/bin/perl
# tree.pl - measure the sources against the limits of a readable tree
#
# usage: tree.pl sizes [DIR]     limits of files, functions, lines and folders
#        tree.pl cycles FILE...  object files that call each other in a circle
#
# Prints a line per finding; status 0 whatever is found.  `cycles` reads `nm`:
# an arrow goes from the file that uses a symbol to the one that defines it.
# A cycle may join up to three files, all of one folder.
use strict;
use warnings;

use constant {
	FILES => 40,		# in a folder of common/
	FILE_LINES => 600,	# of a file written by hand
	FUNCTION_LINES => 100,
	COLUMNS => 80,
	CYCLE_FILES => 3,	# that call each other, within a folder
};

sub generated { return $_[0] =~ m{/unicode_tab\.c$}; }

# Columns of a line, tabs every 8.
sub columns {
	my $n = 0;
	for my $c (split //, $_[0]) {
		next if (ord($c) & 0xc0) == 0x80;
		$n = $c eq "\t" ? ($n | 7) + 1 : $n + 1;
	}
	return $n;
}

sub measure_file {
	my ($file) = @_;
	my $start = 0;
	open(my $f, '<', $file) or die "$file: $!\n";
	while (my $line = <$f>) {
		chomp $line;
		if (columns($line) > COLUMNS) {
			print "$file:$.: ", columns($line), " columns\n";
		}
		if ($line eq '{') {
			$start = $.;
		} elsif ($line eq '}' && $start) {
			my $n = $. - $start - 1;
			print "$file:$start: a function of $n lines\n"
				if $n > FUNCTION_LINES;
			$start = 0;
		}
	}
	print "$file: $. lines\n" if $. > FILE_LINES;
}

sub sizes {
	my ($root) = @_;
	chdir $root or die "$root: $!\n";
	my @files = grep { !generated($_) } glob(
		'cmd/*.c common/*/*.[ch] common/*/*.cc kernels/*.[ch] ' .
		'kernels/*/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch]');
	measure_file($_) for @files;
	for my $dir (glob('common/* kernels/*')) {
		next unless -d $dir;
		my @in = glob("$dir/*");
		print "$dir: ", scalar @in, " files\n"
			if $dir =~ /^common/ && @in > FILES;
		print "$dir: no README.md\n" unless -e "$dir/README.md";
	}
}

# Strongly connected components (Tarjan): lists of nodes.
sub components {
	my ($arrows) = @_;
	my ($n, %index, %low, %on, @stack, @found) = (0);
	my $visit;
	$visit = sub {
		my ($v) = @_;
		$index{$v} = $low{$v} = $n++;
		push @stack, $v;
		$on{$v} = 1;
		for my $w (sort keys %{$arrows->{$v} // {}}) {
			if (!defined $index{$w}) {
				$visit->($w);
				$low{$v} = $low{$w} if $low{$w} < $low{$v};
			} elsif ($on{$w} && $index{$w} < $low{$v}) {
				$low{$v} = $index{$w};
			}
		}
		return if $low{$v} != $index{$v};
		my @part;
		do {
			push @part, pop @stack;
			delete $on{$part[-1]};
		} while ($part[-1] ne $v);
		push @found, [sort @part];
	};
	for my $v (sort keys %$arrows) {
		$visit->($v) unless defined $index{$v};
	}
	return @found;
}

sub cycles {
	my (%defines, %uses, %arrows);
	for my $file (@_) {
		open(my $nm, '-|', 'nm', $file) or die "nm: $!\n";
		while (<$nm>) {
			my ($type, $name) = /([A-Za-z]) (\S+)$/ or next;
			if ($type eq 'U') {
				push @{$uses{$file}}, $name;
			} elsif ($type =~ /[TDBRVC]/) {
				$defines{$name} = $file;
			}
		}
		close $nm or die "nm $file failed\n";
	}
	for my $from (keys %uses) {
		for my $name (@{$uses{$from}}) {
			my $to = $defines{$name} // next;
			$arrows{$from}{$to} = 1 if $to ne $from;
		}
	}
	for my $part (components(\%arrows)) {
		my %folder = map { m{(.*)/} ? ($1 => 1) : ('.' => 1) } @$part;
		print "files in a circle: @$part\n"
			if @$part > CYCLE_FILES || keys %folder > 1;
	}
}

my $what = shift // '';
if ($what eq 'sizes') {
	sizes(shift // '.');
} elsif ($what eq 'cycles' && @ARGV) {
	cycles(@ARGV);
} else {
	die "usage: tree.pl sizes [DIR] | tree.pl cycles FILE...\n";
}
