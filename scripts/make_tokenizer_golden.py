#!/usr/bin/env python3
"""Writes tests/golden/tokenizer from Hugging Face `tokenizers` (0.23.3) and GGUF files (`gguf`).

    pip install tokenizers gguf
    scripts/make_tokenizer_golden.py MODELS_DIR

- smollm2.json/.bin, qwen2.json/.bin: the vocabularies of the two models. Merges make their tokens in the
  order of the ids, so three bytes per side of each merge (little-endian ids) hold all of it.
- gpt-2.json, llama-bpe.json: small vocabularies trained here with the patterns that GPT-2 and Llama 3
  publish; unlike the two above they have tokens of several digits, which makes the cuts visible.
- ids_NAME.jsonl: text and the ids that the library gives, special tokens parsed.
- pieces.jsonl: text and, for each pre-tokenizer, the lengths of its pieces in code points.
- nfc.jsonl: text and its normalisation form C.
"""

import json
import pathlib
import random
import sys
import unicodedata

import gguf
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
from tokenizers import pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "tests" / "golden" / "tokenizer"

QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3 = QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")


def split(pattern):
    return [pre_tokenizers.Split(Regex(pattern), "isolated", invert=False)]


# The cut alone, before bytes are mapped to characters.
CUTS = {
    "gpt-2": split(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    "qwen2": split(QWEN2),
    "llama-bpe": split(LLAMA3),
}
CUTS["smollm"] = [pre_tokenizers.Digits(individual_digits=True)] + CUTS["gpt-2"]

PRE = {
    "gpt-2": [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)],
    "smollm": [pre_tokenizers.Digits(individual_digits=True),
               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)],
    "qwen2": CUTS["qwen2"] + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)],
    "llama-bpe": CUTS["llama-bpe"] + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)],
}

HARD = [
    "", " ", "  ", "\n", "\r", "\r\n", "\t", "\0", "a\0b", "x->y != (a):\n\n\tI'LL pay 12345,67\u20ac don't  \n",
    "I'm you're HE'LL they'Ve it'D 'tis 'S 'T 'M 'lL 'rE", "a'\u017f b'\u017fs '\u017f", "'", "''s", "'s's's", "'ve've",
    "don\u2019t", "l'l 'l 'r 'v 'x 're're", "1st2nd3rd", "1234567890", "12 345 6789 0 1.5e-10",
    "\u0661\u0662\u0663\u0664 \u0967\u0968 \uff11\uff12\uff13\uff14 \u2177\u00bd\u00b2\u3007",
    "a  1", "a \n1", "1  2   3", "1\n\n2", "  1", " 1a 2b", "abc123def", "x = 1;  y = 2",
    "line\r\nline\r\n\r\n  line\r", "\r\r\n\n\r", " \r\n \r\n x", "\n \n \n  x", "a\n\n\n b", "\t\t x\t\ty",
    "a\u00a0b \u00a0 c\u00a0\u00a0", "\u3000\u3000x\u3000", "a\u200bb \u200b c", "\ufeffbom", "a\u0085b\u2028c\u2029d",
    "a\u1680b\u180ec\u2007d\u202fe\u205ff", "\x1c\x1d\x1e\x1f x", "\x0b\x0c y",
    "\u4f60\u597d\u4e16\u754c\u3002\u6771\u4eac\u3067\u3059", "\ud55c\uad6d\uc5b4 \uc5d0", "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35", "cafe\u0301 caf\u00e9 e\u0301\u0323 \u0301x", "\u1112\u1161\u11ab \ud55c \u1100\u1161",
    "\U0001f600 \U0001f469\u200d\U0001f680 \U0001f3f3\ufe0f\u200d\U0001f308 \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd",
    "\u6b6a\U00020bb7\u91ce\u5bb6", "\u212b \u2126 \u2fa1d \u0958 \u0344 \u1e9b\u0323", "\ufb01\ufb02\u00df\u1e9e \u0149",
    "!!!???...---___***", "a_b-c.d/e\\f", "(((([[[[{{{{", "\u2026\u2014\u201cq\u201d", " !x ?y .z", "$100 \u20ac50 \u00a51000",
    "def f(x):\n    return x**2  # squared\n\n\nclass A:\n\tpass\n", "for(int i=0;i<n;++i){a[i]+=b[i];}\n",
    "a" * 300, "^" * 300, " " * 100, "\n" * 100, "ab" * 200, "\u4e2d" * 100, " \n" * 60, "1" * 100, "'" * 50,
    '{"key":"value","list":[1,2,3,{"a":null}]}' * 8,
    "https://example.org/a?b=c&d=%20e#f", "user@example.org", "\u0301\u0302\u0303", "a\u0301\u0302 \u0301b", "\u20dd x\u20dd",
    "\U000e0067\U000e007f \U000f0000 \U0010ffff \u0378 \ufffd", "\ue000 \ufdd0 \uffff", "\x04\x06\x13a\x14b\x16\x1d\x7f",
]
for count in range(1, 10):
    HARD += [" " * count + "word", " " * count + "\nword", "word" + " " * count, "\t" * count + "1",
             "x" + " " * count + "1", " " * count + "!"]

ALPHABET = list("aZ's'tlLrReEvVmdD  \t\n\r10.,!_-(") + [
    "'s", "'LL", "  ", "\r\n", "\n\n", "\u00e9", "e\u0301", "\u0323", "\u0301", "\u4e2d", "\u3000", "\u00a0", "\u200b", "\u0661",
    "\uff12", "\u00bd", "\U0001f600", "\u200d", "\ufe0f", "\u05e9", "\u0905", "\u0947", "\u017f", "\u1112", "\u1161", "\u11ab", "\ud55c",
    "\u2028", "\u0085", "\ufffd", "\x00", "\U00020bb7", "\u01c5", "\u02b0", "\u2160", "\u2460"]


def random_texts(count, seed):
    rng = random.Random(seed)
    return ["".join(rng.choice(ALPHABET) for _ in range(rng.randint(1, 40))) for _ in range(count)]


def oracle_texts():
    rows = (ROOT / "tests/golden/oracle/tokens_qwen2.jsonl").read_text().splitlines()
    return [json.loads(row)["text"] for row in rows]


def build(pre, vocab, merges, added=()):
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=pre == "llama-bpe"))
    if pre == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(PRE[pre])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken(text, special=special, normalized=False) for text, special in added])
    return tokenizer


def write_json(name, value):
    (OUT / name).write_text(json.dumps(value, ensure_ascii=False, indent=0) + "\n")


def write_rows(name, rows):
    (OUT / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def id_rows(tokenizer, texts):
    return [{"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids} for text in texts]


def real_vocabulary(path, name, pre, texts):
    fields = gguf.GGUFReader(path).fields
    read = lambda key: fields["tokenizer.ggml." + key].contents()
    tokens, types, merges = read("tokens"), read("token_type"), [m.split(" ") for m in read("merges")]
    ids = {token: i for i, token in enumerate(tokens)}
    first = ids["".join(merges[0])]
    assert all(ids[a + b] == first + i for i, (a, b) in enumerate(merges))
    (OUT / f"{name}.bin").write_bytes(
        b"".join(ids[piece].to_bytes(3, "little") for merge in merges for piece in merge))
    write_json(f"{name}.json", {
        "pre": pre, "head": tokens[:first], "tail": tokens[first + len(merges):],
        "types": {str(i): t for i, t in enumerate(types) if t != 1},
        "bos": read("bos_token_id"), "eos": read("eos_token_id"), "add_bos": read("add_bos_token")})
    added = [(tokens[i], t == 3) for i, t in enumerate(types) if t in (3, 4)]
    vocab = {token: i for i, token in enumerate(tokens) if types[i] != 5}
    markers = [m for m, _ in added]
    texts = texts + [f"a {m}b{m[:-1]} {m[1:]}{m}{m}" for m in markers] + [
        "<|im_start|>user\nhi<|im_end|>", "<s>a</s>", " <tool_call> x</tool_call>", "<|im_end|", "<<|im_end|>>"]
    write_rows(f"ids_{pre}.jsonl", id_rows(build(pre, vocab, [tuple(m) for m in merges], added), texts))


def trained_vocabulary(pre, corpus, texts):
    trainer = trainers.BpeTrainer(vocab_size=2000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(PRE[pre])
    tokenizer.train_from_iterator(corpus, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    # Whole words that no merge makes: only `ignore_merges` finds them.
    tokens += [word for word in ("\u0120unreachable", "squaredword", "\u0120quux", "999") if word not in tokens]
    added = [("<|endoftext|>", True), ("<|begin|>", True), ("<|begin|>ning", True), ("<note>", False)]
    first = len(tokens)
    write_json(f"{pre}.json", {
        "pre": pre, "tokens": tokens + [text for text, _ in added],
        "merges": [m if isinstance(m, str) else " ".join(m) for m in model["merges"]],
        "types": {str(first + i): 3 if special else 4 for i, (_, special) in enumerate(added)},
        "bos": first + 1, "eos": first, "add_bos": pre == "llama-bpe"})
    merges = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]]
    vocab = {token: i for i, token in enumerate(tokens)}
    texts = texts + ["an unreachable squaredword quux quuxes 999 9990", "<|begin|>x<|begin|>ning <note>y<|begin|>nin <|beginn",
                     "a<note>b <note", "<|endoftext|><|endoftext|> <|endoftext|>"]
    write_rows(f"ids_{pre}.jsonl", id_rows(build(pre, vocab, merges, added), texts))


def main():
    models_dir = pathlib.Path(sys.argv[1])
    OUT.mkdir(parents=True, exist_ok=True)
    texts = HARD + random_texts(300, 1)
    real_vocabulary(models_dir / "SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2", "smollm", texts)
    real_vocabulary(models_dir / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", "qwen2", "qwen2", texts)
    rng = random.Random(2)
    corpus = oracle_texts() + [str(rng.randint(0, 10 ** rng.randint(1, 6))) for _ in range(4000)] + HARD * 3
    for pre in ("gpt-2", "llama-bpe"):
        trained_vocabulary(pre, corpus, texts + oracle_texts()[:250])
    rows = []
    for text in texts + random_texts(500, 3):
        row = {"text": text}
        for pre, steps in CUTS.items():
            pieces = pre_tokenizers.Sequence(steps).pre_tokenize_str(text)
            row[pre] = [end - begin for _, (begin, end) in pieces]
        rows.append(row)
    write_rows("pieces.jsonl", rows)
    write_rows("nfc.jsonl", [{"text": t, "nfc": unicodedata.normalize("NFC", t)}
                             for t in texts + random_texts(300, 4)
                             if not unicodedata.is_normalized("NFC", t)])


main()
