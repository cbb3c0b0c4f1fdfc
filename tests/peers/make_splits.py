#!/usr/bin/env python3
"""Make tests/data/split/*.txt.zst: texts split by tokenizers and tiktoken.

usage: make_splits.py DIR

Patterns are those of published tokenizers, one for each thing that the syntax
has, and random ones of a fixed seed; so are the texts.  Lines of a file:

    T TEXT                   a text, in JSON
    P BEHAVIOR PATTERN       a pattern, in JSON; i after it: inverted
    = 3,1,4 2,2 ? ...        for each text, the bytes of its pre-tokens; ?
                             where some text is in none (tiktoken drops it),
                             x where the library panics
    !                        the library refuses the pattern
    J PRE_TOKENIZER          of a tokenizer.json (pipelines.txt)
"""
import json
import os
import random
import subprocess
import sys

TEXTS = [
    "", " ", "a", "\n", "Hello, world!  It's 2024; don't panic.\n",
    "DON'T you'll I'VE we'd x'\u017fy can\u2019t", "  leading\t\ttabs \n\n x",
    "a\n ", "a \n\n  b\r\n\r\nc", "!!!\r\n\r\nx", "1234567 12,345.67e-8 \u0661\u0662",
    "foo_bar fooBarBaz HTTPServer x2y3 __init__", "\u6f22\u5b57\u304b\u306a\u30ab\u30ca ABC",
    "Stra\u00dfe STRASSE \u1e9e \ufb01 \u0149 \u01f0 ss SS fi", "e\u0301e\u0301 \u0928\u092e\u0938\u094d\u0924\u0947",
    "\U0001f600\U0001f3fd \u00bd\u00b2\u2167\u3007 \u2028\u2029\u0085\u00a0\u3000|",
    "\u0391\u0392\u0393 \u03b1\u03b2\u03b3 \u03c2\u03c3\u03a3 \u0416\u0436 \u01c5\u01c4\u01c6 K\u212a \u2126\u03c9",
    "a1b2c3 aaa aab abb b{,3} {a} x{2}y", "\x00\x01\x7f\u200b\u200c\u200d\ufeff",
    "((x)[y]{z}) <a href=\"b\">c</a> && || -- ^$ \\d", "\u0e01\u0e33\u0e44\u0e17\u0e22 \ud55c\uad6d\uc5b4 \u05d0\u05d1\u05d2 \u0627\u0644",
    "The end.\n\n\n", "\n\nab\ncd\n", "aXbXc abab aabb", "\U00010d50\U00010d70 \ua7cb\u0264 \u1c89\u1c8a \U000105c0",
    "http://x.y/z?q=1&r=2#t user@host.org 3:45pm \u20ac5 $10", "0x1F 1e10 007 +1-2*3/4=5",
]

PUBLISHED = [
    # BLOOM, Kimi, DeepSeek-V3, DeepSeek-coder, Qwen, GPT-OSS, StarCoder, Falcon
    " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+",
    "[\\p{Han}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*"
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+"
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?"
    "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", "\\p{N}{1,3}", "\\p{N}", "[0-9][0-9][0-9]",
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?"
    "[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++"
    "[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s",
    "'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s",
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+"
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?"
    "[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    "(?=(\\d{3})+(?!\\d))", "(?:\\r?\\n)+(?!\\r?\\n)", "[\\p{L}\\p{M}]+|\\p{N}|[\\p{P}\\p{S}]+|\\s+",
    "\\d{1,3}(?=(?:\\d{3})*\\b)", "[\\s\\S]", "<0x[0-9A-F]{2}>", "\\w+|[^\\w\\s]+",
]

EACH = r"""
\pL \PL \p \P \p{L}{,3} a{2}? a{2}+ a{1,2}+ a{,2} a{2,}? a{0} {a a{ a{x} } ] a++ a*+ a?+ a+? a*? a?? a** a+*
(?i)\p{Lu}+ (?i)\p{Ll}+ (?i)ß (?i)ẞ (?i)ss (?i)ﬁ (?i)fi (?i)ŉ (?i)ǰ (?i)[ß] (?i)[^a-z]+ (?i)[α-ω]+ (?i)σ (?i)k (?i)ω
(?i)ǆ (?i)𐵐 (?i)ɤ (?i)Ꟍ (?i)ᲊ (?i)[Ა-Ჺ] (?i:a)b (?i-i:A)a (?i)a(?-i)b (?i)strasse (?i)\x{df} (?i)STRASSE|x
\x \x4 \x41 \x{41} \x{1F600} \x{110000} \u00e9 \u \u00 \uD800 \101 \0 \o{101} \cA \C-a \M-a \e \a \f \v \t \r \n
\w \W \w+ \W+ \d+ \D+ \s+ \S+ \h+ \H+ \b \B \b\w+\b \bx \Ba (?W)\w+ (?D)\d+ (?S)\s+ (?P)[[:alpha:]]+ (?W:\w)|\w
[\w]+ [\W]+ [^\w]+ [^\W]+ [\d\s]+ [^\d\s]+ [\h]+ \N+ \O+ \R . .+ (?m).+ (?m:.)+ ^ $ ^. .$ \A. .\z .\Z \Ga \G. a\Kb \K
[[:alpha:]]+ [[:^alpha:]]+ [[:alnum:]]+ [[:ascii:]]+ [[:blank:]]+ [[:cntrl:]]+ [[:digit:]]+ [[:graph:]]+ [[:lower:]]+
[[:print:]]+ [[:punct:]]+ [[:space:]]+ [[:upper:]]+ [[:word:]]+ [[:xdigit:]]+ [^[:punct:]]+ [[:foo:]] [:alpha:] [[:alpha:]0-9]+
[a-z&&[^aeiou]]+ [a-z&&[^aeiou]&&[^x-z]]+ [[a-c][x-z]]+ [^[a-c][x-z]]+ [a[b[c]]]+ [\p{L}&&\p{Ll}]+ [\w&&[^\d_]]+ [&&a] [a&&] [^a&&b]
[]a]+ [^]a]+ [a-]+ [-a]+ [a\-z]+ [a-\d] [\d-a] [b-a] [a--b] [\]\[]+ [[] [a [] [^] [\b]+ [.]+ [(|)]+ [\x41-\x5a]+ [\u0391-\u03a9]+ [α-ωά]+
\p{Han}+ \p{Hiragana}+ \p{Katakana} \p{Latin}+ \p{Greek}+ \p{Cyrillic}+ \p{Hangul}+ \p{Arabic}+ \p{Thai}+ \p{Hebrew}+ \p{Devanagari}+
\p{Garay}+ \p{Todhri}+ \p{Common}+ \p{Inherited}+ \p{Zyyy}+ \p{Unknown}+ \p{InHan} \p{Script=Han} \p{In_CJK_Unified_Ideographs}+ \p{Age=6.0}
\p{Lu}+ \p{lu}+ \p{Uppercase_Letter}+ \p{Upper}+ \p{ L u } \p{^L}+ \P{^L}+ \P{L}+ \p{Alphabetic}+ \p{Lowercase}+ \p{White_Space}+
\p{Emoji}+ \p{Emoji_Presentation}+ \p{Extended_Pictographic}+ \p{Ideographic}+ \p{Any}+ \p{Assigned}+ \p{ASCII}+ \p{Cn}+ \p{C}+ \p{Cf}+ \p{Cc}+ \p{Co}
\p{ID_Start}\p{ID_Continue}* \p{XIDS}\p{XIDC}* \p{Math}+ \p{Dash}+ \p{Hex_Digit}+ \p{Punct}+ \p{PosixPunct}+ \p{S}+ \p{Sm}+ \p{Sc} \p{Z}+ \p{Zs}+ \p{Zl}
\p{M}+ \p{Mn}+ \p{Nd}+ \p{Nl}+ \p{No}+ \p{Pc}+ \p{Pd}+ \p{Ps} \p{Pe} \p{LC}+ \p{Cased}+ \p{Case_Ignorable}+ \p{Diacritic}+ \p{Variation_Selector} \p{Klingon} \p{}
(?<=a)b (?<!a)b (?<=a|bc)d (?<=a+)b (?<=\s)\S+ (?<!\S)\S (?<=[aeiou])[^aeiou] (?=a) (?!a). (?=\d)|x (?=c)|b a(?=b)|b (?<n>a)\k<n> (a)\1 (?<n>a|b)\g<n> (?P<n>a)
(?>a+)b (?>a|ab)c (?~ab) (?~|ab|\w*) (?(a)b|c) (a)?(?(1)b|c) (?#x)a (?x:\ a\ b) (?s:.) (?u)a (?a)a (?I)a (?L)a (?C)(a) a(?i)b|c (?i)a|B (?:a|(?i)b|c)d
() (|a) a| |a a||b (a (?:a a) \ \\ *a +a ?a (*a) a{99999999} a{3,1} \1 \9 \k<n> \g<1> \g<0> (?R) \Q*\E \_ \- \é \é+ \<a\> a\z|b \`a \'b
""".replace("\n", " ").split(" ")

ATOMS = ["a", "b", "ab", ".", "\\w", "\\d", "\\s", "\\S", "\\p{L}", "\\p{Lu}", "\\p{N}", "[a-z]", "[^a-z ]",
         "[[:alpha:]]", "\\p{Han}", "[\\w&&[^\\d]]", "\\P{L}", "'",
         " ?", "[\\r\\n]", "\\p{P}", "(?i:S)", "\u03a3", "(?i:\u03c3)", "[\\s\\p{P}]", "\\W", "(?:x|y)", "(?i:\u00df)"]
ASSERT = ["\\b", "\\B", "(?=\\s)", "(?<=\\w)", "(?!\\d)", "(?<!a)", "$", "^", "\\z"]
QUANT = ["", "", "", "+", "*", "?", "{2}", "{1,3}", "{,2}", "{2,}", "+?", "*?", "++", "*+", "?+", "{1,2}?", "{2}+"]


def randoms(r, n):
    def atom(depth):
        k = r.random()
        if depth < 2 and k < 0.2:
            how = r.choice(["(?:%s)", "(%s)", "(?>%s)", "(?i:%s)", "(?=%s)", "(?!%s)"])
            return how % regex(depth + 1) + (r.choice(QUANT) if how[2] not in "=!" else "")
        if k < 0.3:
            return r.choice(ASSERT)
        return r.choice(ATOMS) + r.choice(QUANT)

    def regex(depth):
        return "|".join("".join(atom(depth) for _ in range(r.randint(1, 3)))
                        for _ in range(r.randint(1, 3)))
    return [regex(0) for _ in range(n)]


def random_texts(r, n):
    parts = list("abxyAZsS019 .,'!-_\n\r\t") + ["  ", "\n\n", "ll", "\u00e9", "\u0301", "\u6f22", "\u03a3", "\u03c3",
            "\u03c2", "\u00df", "\u1e9e", "\u2019", "\u00a0", "\u0661", "\U0001f600", "\u200d", "\u0436", "\ufb01", "\u2028"]
    return ["".join(r.choice(parts) * (r.random() < .1 and 4 or 1) for _ in range(r.randint(5, 60))) for _ in range(n)]


def lengths(pieces, text):
    n = [len(x if isinstance(x, bytes) else x.encode()) for x in pieces if x]
    if sum(n) != len(text.encode()):
        return "?"
    return ",".join(map(str, n)) or "-"


def answer(f, text):
    try:
        return lengths(f(text), text)
    except BaseException:       # a panic: too much backtracking, or a bug
        return "x"


def tokenizers_split(pattern, behavior, invert):
    from tokenizers import Regex, pre_tokenizers
    s = pre_tokenizers.Split(Regex(pattern), behavior, invert=invert)
    return lambda t: [x for x, _ in s.pre_tokenize_str(t)]


def tiktoken_split(pattern, texts):
    """Every stretch of every text is a token, so that each pre-token is one."""
    import tiktoken
    ranks = {bytes([b]): b for b in range(256)}
    for t in texts:
        raw = t.encode()
        for i in range(len(raw)):
            for j in range(i + 1, len(raw) + 1):
                ranks.setdefault(raw[i:j], len(ranks))
    names = list(ranks)
    enc = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return lambda t: [names[i] for i in enc.encode_ordinary(t)]


def write(path, texts, patterns, split):
    out = ["T " + json.dumps(t) for t in texts]
    refused = 0
    for p, behavior, invert in patterns:
        out.append("P %s%s %s" % (behavior, "i" * invert, json.dumps(p)))
        try:
            f = split(p, behavior, invert)
        except Exception:
            refused += 1
            out.append("!")
            continue
        out.append("= " + " ".join(answer(f, t) for t in texts))
    data = ("\n".join(out) + "\n").encode()
    subprocess.run(["zstd", "-19q", "-f", "-o", path], input=data, check=True)
    print(path, len(patterns), "patterns", refused, "refused", len(data), os.path.getsize(path))


def split_json(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
REGEX = dict(BYTES, use_regex=True)
DIGITS = {"type": "Digits", "individual_digits": False}
SINGLE = {"type": "Digits", "individual_digits": True}
PIPELINES = [
    [REGEX], [BYTES],
    # Falcon
    [{"type": "Punctuation", "behavior": "Contiguous"}, REGEX, DIGITS, split_json("[0-9][0-9][0-9]")],
    # GPT-4, GPT-4o, Phi-4 and OLMo 2, as converted from tiktoken
    [split_json(PUBLISHED[9], "Removed", True), BYTES], [split_json(PUBLISHED[11], "Removed", True), BYTES],
    [split_json(PUBLISHED[8], "Removed", True), BYTES],
    # Llama-3, DeepSeek-V3, StarCoder, BLOOM
    [split_json(PUBLISHED[8]), BYTES], [split_json(PUBLISHED[4]), split_json(PUBLISHED[3]), split_json(PUBLISHED[2]), BYTES],
    [SINGLE, REGEX], [split_json(PUBLISHED[0]), BYTES], [split_json(PUBLISHED[1], "Removed", True), BYTES],
    [{"type": "Punctuation"}, BYTES], [BYTES, {"type": "Punctuation"}], [BYTES, SINGLE], [REGEX, DIGITS, SINGLE],
    [{"type": "Punctuation", "behavior": "MergedWithNext"}, BYTES], [{"type": "Punctuation", "behavior": "MergedWithPrevious"}, REGEX],
    [BYTES, split_json("[^a-z]+", "MergedWithPrevious")], [BYTES, split_json("\\w+", "Contiguous", True)],
    [split_json("-", kind="String"), BYTES], [BYTES, split_json("\u0120", "MergedWithNext", kind="String")],
]


def pipeline(parts):
    """Offsets do not tell bytes apart: ByteLevel comes with one character for each byte."""
    from tokenizers import Tokenizer, models
    t = Tokenizer(models.BPE())
    raw = json.loads(t.to_str())
    raw["pre_tokenizer"] = parts[0] if len(parts) == 1 else {"type": "Sequence", "pretokenizers": parts}
    pre = Tokenizer.from_str(json.dumps(raw)).pre_tokenizer
    return raw["pre_tokenizer"], lambda text: [b"x" * len(x) for x, _ in pre.pre_tokenize_str(text)]


TIKTOKEN = PUBLISHED + r"""
\p{N}{1,3}+ a{2}? a{1,2}+b (?:ab){1,2}+a [a-c]{2}+ \p{L}{2,}+ a{,2} \s++$ ^a b$ (?m)^. (?m).$ (?s).+ .+ (?s:.)a \w+ \W+ \b\w \B.
[[:alpha:]]+ [[:^alpha:]]+ [[:punct:]]+ [[:space:]] \pL+ \PL+ \p{Han}+ \p{Script=Han}+ \p{sc=Greek}+ \p{gc=Lu} \p{^L}+
(?i)ß (?i)ss (?i)straße (?i)k (?i)σ+ (?i)[ß] (?i)ﬁ (?i:'s|x) a(?i)b|c (?i)a|B a(?i)x|X (?P<n>a)b (?<n>a)\k<n> (a)\1 (?<=a)b (?<!a)b (?>a+)b
\u{e9} \u00e9 \U00000041 \x41 \x{41} \d+ \D+ \s+ \S+ [\w&&[^\d]]+ [a-z&&[^aeiou]]+ []a]+ [^]a]+ [a-]+ \p{Garay}+ \p{Lu}+ \p{Emoji}+ \p{Alphabetic}+ \p{L}+|\p{N}
\A. .\z \p{Cyrillic}+ \p{P}+|\p{S}+ (?i)\p{Lu}+ [^\r\n]+ \R \h+ a++ a*+b a?+b a*? {a \{a [[a-c][x-z]]+ \p{Latin}+ (?:a|b)+? x|y|$ (?=c)|b (?!a).
""".replace("\n", " ").split(" ")


def main():
    r = random.Random(9)
    texts = TEXTS + random_texts(r, 13)
    patterns = [p for p in PUBLISHED + EACH if p] + randoms(r, 160)
    how = ["isolated"] * 6 + ["contiguous", "merged_with_previous", "merged_with_next"]
    rows = [(p, "isolated", False) for p in patterns]
    rows += [(p, r.choice(how[6:]), r.random() < .3) for p in patterns[::3]]
    write(sys.argv[1] + "/tokenizers.txt.zst", texts, rows, tokenizers_split)
    texts = [t for t in texts if len(t.encode()) < 90]
    write(sys.argv[1] + "/tiktoken.txt.zst", texts, [(p, "isolated", False) for p in TIKTOKEN if p],
          lambda p, b, i: tiktoken_split(p, texts))
    out = ["T " + json.dumps(t) for t in texts]
    for parts in PIPELINES:
        js, f = pipeline(parts)
        out += ["J " + json.dumps(js), "= " + " ".join(answer(f, t) for t in texts)]
    data = ("\n".join(out) + "\n").encode()
    subprocess.run(["zstd", "-19q", "-f", "-o", sys.argv[1] + "/pipelines.txt.zst"], input=data, check=True)


main()
