"use strict";

/** Comparison of words, for the search and for addresses that are nearly right. */

/** The words of a text: `BatchNormalization` has two, and so has `float16`. A version such as `1.20.1` is one word. */
site.wordsOf = (text) => text
  .replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/([A-Z]+)([A-Z][a-z])/g, "$1 $2")
  .toLowerCase().match(/\d+(?:\.\d+)+|[a-zäöüß]+|\d+/g) || [];

/** Number of edits between two words: insert, delete, replace, or swap neighbours; `most + 1` if there are more than `most`. */
site.distance = (a, b, most) => {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let [before, row] = [[], Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) next[j] = Math.min(next[j], before[j - 2] + 1);
    }
    if (Math.min(...next) > most) return most + 1;
    [before, row] = [row, next];
  }
  return row[b.length];
};

/** Length of the common beginning of two words. */
site.commonLength = (a, b) => {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
};

/** Similarity of a reader's word and a known word, from 0 to 1. */
site.similarity = (word, known) => {
  if (word === known) return 1;
  if (/^\d/.test(word)) return word.includes(".") && known.startsWith(`${word}.`) ? 0.95 : 0;
  const [short, long] = word.length < known.length ? [word, known] : [known, word];
  const common = site.commonLength(short, long);
  // The beginning of a word, as it is typed or abbreviated: `norm`, `conv` of `convolution`.
  if (common === short.length && word === short && short.length > 1) return 0.92 - 0.3 * (1 - short.length / long.length);
  if (common === short.length && short.length > 2) return 0.9 - 0.3 * (1 - short.length / long.length);
  if (short.length >= 4) {
    const most = short.length >= 7 ? 2 : 1;
    const edits = site.distance(word, known, most);
    if (edits <= most) return (common > 0 ? 0.82 : 0.7) - 0.12 * edits;
  }
  // Other endings: `encoding` and `encoder`.
  if (common >= 5 && common >= 0.6 * long.length) return 0.68;
  if (word.length > 3 && known.includes(word)) return 0.5;
  return 0;
};

/** The names that are most similar to a text, at most `most` of them. */
site.nearest = (text, names, most = 3) => {
  const joined = (name) => site.wordsOf(name).join("");
  const wanted = joined(text.slice(0, 100));
  if (!wanted) return [];
  const rank = (name) => {
    const known = joined(name);
    const limit = Math.max(2, Math.ceil(wanted.length / 3));
    const edits = site.distance(wanted, known, limit);
    if (edits <= limit) return 1 - edits / (limit + 1);
    return wanted.length > 2 && (known.includes(wanted) || wanted.includes(known)) ? 0.2 : 0;
  };
  return names.map((name) => ({ name, rank: rank(name) })).filter((one) => one.rank > 0)
    .sort((a, b) => b.rank - a.rank || a.name.length - b.name.length).slice(0, most).map((one) => one.name);
};
