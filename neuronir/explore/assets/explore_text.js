// Lines of IR: their tokens with a class each, and what differs between two lines.
const TOKENS = new RegExp(
  [
    '(?<text>"(?:[^"\\\\]|\\\\.)*")',
    "(?<value>%[\\w.$-]+(?:#\\d+)?)",
    "(?<type>(?:tensor|memref|vector|tuple|complex)<|[#!][\\w.]+|\\b(?:bf16|f16|f32|f64|i1|i8|i16|i32|i64|ui8|ui16|ui32|index)\\b)",
    "(?<name>\\b[a-z]\\w*\\.[a-z]\\w*\\b)",
    "(?<word>\\b[a-z_]\\w*(?= = |=)|\\b(?:to|step|iter_args|on|in|attributes|loc)\\b)",
    "(?<rest>[\\w.]+|\\s+|.)",
  ].join("|"),
  "g",
);

// The pieces of a text: [class, text, offset].
function tokensOf(text) {
  const found = [];
  for (const match of text.matchAll(TOKENS)) {
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    const last = found[found.length - 1];
    if (kind === "rest" && last && last[0] === "") last[1] += match[0];
    else found.push([kind === "rest" ? "" : kind, match[0], match.index]);
  }
  return found;
}

// The range of `text` that differs from `other`: what is between their common begin and end. Null where
// they have less than half in common.
function differing(text, other) {
  let start = 0;
  const most = Math.min(text.length, other.length);
  while (start < most && text[start] === other[start]) start++;
  let end = 0;
  while (end < most - start && text[text.length - 1 - end] === other[other.length - 1 - end]) end++;
  return start + end < Math.max(text.length, other.length) / 2 ? null : [start, text.length - end];
}

// Fill an element with a text: tokens in classes, the range that differs, and hits of a search.
function fillLine(element, text, part, query) {
  const cuts = new Set();
  const hits = [];
  if (query) {
    const low = text.toLowerCase();
    for (let at = low.indexOf(query); at >= 0; at = low.indexOf(query, at + query.length)) {
      hits.push([at, at + query.length]);
      cuts.add(at).add(at + query.length);
    }
  }
  if (part) part.forEach((at) => cuts.add(at));
  const sorted = [...cuts].sort((a, b) => a - b);
  for (const [kind, piece, offset] of tokensOf(text)) {
    let from = offset;
    const ends = sorted.filter((at) => at > offset && at < offset + piece.length);
    for (const to of [...ends, offset + piece.length]) {
      const hit = hits.some(([a, b]) => from >= a && to <= b);
      const differs = part && from >= part[0] && to <= part[1];
      const words = text.slice(from, to);
      if (!kind && !hit && !differs) element.append(words);
      else {
        const span = document.createElement(hit ? "mark" : "span");
        span.className = [kind, differs ? "part" : ""].filter(Boolean).join(" ");
        span.textContent = words;
        element.append(span);
      }
      from = to;
    }
  }
}
