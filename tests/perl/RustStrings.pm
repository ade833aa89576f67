# The strings in Rust sources, read without a compiler.
package RustStrings;

use strict;
use warnings;

use Exporter qw(import);

our @EXPORT = qw(unescaped strings_of pattern_of has_words);

# Returns a string as the compiler reads it.
sub unescaped {
	my ($text) = @_;
	$text =~ s/\\\n\s*//g;
	$text =~ s/\\(["\\])/$1/g;
	return $text;
}

# Returns the strings of a source, those of C, and the code without strings and comments.
sub strings_of {
	my ($source) = @_;
	my (@strings, @of_c);
	my $code = '';
	while (
		$source =~ m{\G(?:
		//[^\n]* | (?<comment>/\*(?:[^*/]++|\*(?!/)|/(?!\*)|(?&comment))*\*/)
		| (?<char>b?'(?:\\(?:u\{\w+\}|x\w\w|.)|[^\\'\x80-\xff]|[\x80-\xff]+)')
		| (?<kind>b?|c)"(?<text>(?:\\.|[^"\\])*)"
		| (?<kind_raw>[bc]?)r(?<hashes>\#*)"(?<raw>.*?)"\k<hashes>
		| (?<code>\w+|.))}sgcx)
	{
		$code .= $+{code} // ' ';
		my ($kind, $text) =
		  defined $+{text} ? ($+{kind}, unescaped($+{text})) : ($+{kind_raw}, $+{raw});
		push @{ $kind eq 'c' ? \@of_c : \@strings }, { text => $text, before => $code }
		  if defined $text;
	}
	return (\@strings, \@of_c, $code);
}

# Returns a text as a pattern of what it may become: what stands in braces may be anything.
sub pattern_of {
	my ($text) = @_;
	$text =~ s/\s+/ /g;
	$text =~ s/\A | \z//g;
	return join '.+?', map { quotemeta } split /\{[\w.:]*\}/, $text, -1;
}

# Whether there is a word in what is fixed of it.
sub has_words {
	my ($text) = @_;
	return $text =~ s/\{[\w.:]*\}//gr =~ /[A-Za-z]{2}/;
}

1;
