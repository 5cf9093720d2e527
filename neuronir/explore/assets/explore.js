// The page of a compile: step through its passes, with two panes of aligned lines of IR.
const LINE = 18, AROUND = 3, MARGIN = 30;

// Apply changes to a list of lines: [from, to, new lines, anchors].
function applied(lines, hunks) {
  const out = [];
  let at = 0;
  for (const [from, to, added] of hunks) {
    for (; at < from; at++) out.push(lines[at]);
    out.push(...added);
    at = to;
  }
  for (; at < lines.length; at++) out.push(lines[at]);
  return out;
}

// Rows [line before, line after, changed] of a step; -1 where a side has none.
function alignedRows(before, after, hunks) {
  const rows = [];
  let i = 0, j = 0;
  const pad = (iTo, jTo) => {
    while (i < iTo || j < jTo) rows.push([i < iTo ? before[i++] : -1, j < jTo ? after[j++] : -1, true]);
  };
  for (const [from, to, added, anchors] of hunks) {
    for (; i < from; i++, j++) rows.push([before[i], after[j], false]);
    const start = j;
    for (let k = 0; k < anchors.length; k += 2) pad(from + anchors[k], start + anchors[k + 1]);
    pad(to, start + added.length);
  }
  for (; i < before.length; i++, j++) rows.push([before[i], after[j], false]);
  return rows;
}

class Explorer {
  constructor(data) {
    Object.assign(this, data);
    this.at = 0;
    this.rows = [];
    this.view = [];
    this.chosen = new Set();
    this.query = "";
    this.cursor = 0;
    this.opened = new Set();
    this.drawn = ["", ""];
    this.panes = [byId("before"), byId("after")];
    this.buttons = [...document.querySelectorAll(".pass")];
    this.snapshots = [];
    let last = [];
    for (const step of this.steps) {
      const before = step.lead.length ? applied(last, step.lead) : last;
      last = step.hunks.length ? applied(before, step.hunks) : before;
      this.snapshots.push([before, last]);
    }
    this.touched = this.steps.map((step, n) => this.touchedBy(step, n));
  }

  // The source ops of the lines that a step removes or adds.
  touchedBy(step, number) {
    const found = new Set();
    if (number === 0) return found;
    const before = this.snapshots[number][0];
    for (const [from, to, added] of step.hunks)
      for (const line of [...before.slice(from, to), ...added]) this.own[line].forEach((s) => found.add(s));
    return found;
  }

  start() {
    for (const button of this.buttons)
      button.addEventListener("click", () => this.show(Number(button.dataset.step)));
    const actions = {
      previous: () => this.step(-1), next: () => this.step(1),
      "change-before": () => this.change(-1), "change-after": () => this.change(1),
    };
    for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", action);
    byId("fold").addEventListener("change", () => this.refold());
    byId("only-changed").addEventListener("change", (event) =>
      byId("passes").classList.toggle("only-changed", event.target.checked));
    byId("search").addEventListener("input", (event) => this.search(event.target.value));
    byId("search").addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.nextHit(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") this.panes[1].focus();
    });
    document.addEventListener("keydown", (event) => this.key(event));
    this.panes.forEach((pane, side) => {
      pane.addEventListener("scroll", () => {
        const other = this.panes[1 - side];
        if (other.scrollTop !== pane.scrollTop) other.scrollTop = pane.scrollTop;
        this.draw(false);
      });
      pane.addEventListener("keydown", (event) => this.paneKey(event));
      pane.addEventListener("click", (event) => {
        const row = event.target.closest(".row");
        if (row) this.choose(Number(row.dataset.at), side);
      });
    });
    new ResizeObserver(() => this.draw()).observe(this.panes[0]);
    for (const link of document.querySelectorAll("header nav a"))
      link.addEventListener("click", (event) => {
        event.preventDefault();
        const button = document.querySelector(`${link.getAttribute("href")} + ol button`);
        this.show(Number(button.dataset.step));
      });
    const named = new URLSearchParams(location.hash.slice(1));
    const source = this.sources.findIndex((s) => s[0] === named.get("op"));
    if (source >= 0) this.chosen.add(source);
    const first = this.steps.findIndex((s, n) => n > 0 && s.hunks.length);
    const wanted = Number(named.get("step"));
    this.show(wanted in this.steps && named.has("step") ? wanted : Math.max(first, 0));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
    const action = {
      n: () => this.step(1), p: () => this.step(-1), "]": () => this.change(1), "[": () => this.change(-1),
      N: () => this.touching(1), P: () => this.touching(-1),
      "/": () => byId("search").focus(), f: () => byId("fold").click(), Escape: () => this.chooseSources([]),
    }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  paneKey(event) {
    const page = Math.floor(this.panes[0].clientHeight / LINE) - 1;
    const by = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -Infinity, End: Infinity }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      this.moveTo(this.cursor + by);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose(this.cursor, this.panes.indexOf(event.currentTarget));
    }
  }

  // Hidden passes are stepped over.
  step(by) {
    let to = this.at + by;
    while (to in this.steps && this.buttons[to].offsetParent === null) to += by;
    if (to in this.steps) this.show(to);
  }

  // The next pass that changes a line of the chosen source ops.
  touching(by) {
    let to = this.at + by;
    while (to in this.steps && ![...this.chosen].some((s) => this.touched[to].has(s))) to += by;
    if (to in this.steps) this.show(to);
  }

  show(number) {
    this.at = number;
    const step = this.steps[number], [before, after] = this.snapshots[number];
    this.rows = alignedRows(before, after, step.hunks);
    this.opened.clear();
    for (const button of this.buttons) button.removeAttribute("aria-current");
    this.buttons[number].setAttribute("aria-current", "step");
    this.buttons[number].scrollIntoView({ block: "nearest" });
    byId("pass-head").textContent = `${number} of ${this.steps.length - 1}: ${step.text}`;
    const [summary, ...rest] = step.about.split("\n\n");
    byId("pass-summary").textContent = summary.replace(/\s+/g, " ") || step.name;
    const see = step.name.startsWith("(") ? "" : `See docs/passes.md, section ${step.name}.`;
    byId("pass-doc").textContent = `${rest.join("\n\n")}\n\n${see}`.trim();
    const failed = step.failed ? ", which failed" : "";
    byId("before-head").textContent = `Before ${step.name}: ${before.length.toLocaleString("en")} lines`;
    byId("after-head").textContent = `After ${step.name}${failed}: ${after.length.toLocaleString("en")} lines`;
    this.refold(true);
    this.remember();
  }

  // Rows in view: numbers of rows, or [first, last] of a run that is folded.
  refold(fresh = false) {
    const kept = this.view[this.cursor];
    const rows = this.rows, fold = byId("fold").checked && rows.some((row) => row[2]);
    const shown = new Uint8Array(rows.length).fill(fold ? 0 : 1);
    if (fold)
      rows.forEach((row, n) => {
        if (row[2]) shown.fill(1, Math.max(0, n - AROUND), n + AROUND + 1);
        else if (this.opened.has(n) || this.sameSource(row[0]) === 2) shown[n] = 1;
      });
    this.view = [];
    for (let n = 0; n < rows.length; ) {
      let end = n;
      while (end < rows.length && !shown[end]) end++;
      if (end - n > 1) {
        this.view.push([n, end]);
        n = end;
      } else this.view.push(n++);
    }
    const sheets = this.panes.map((pane) => pane.firstElementChild);
    sheets.forEach((sheet, side) => {
      sheet.style.height = `${this.view.length * LINE}px`;
      const longest = rows.reduce((most, row) => Math.max(most, row[side] < 0 ? 0 : this.texts[row[side]].length), 0);
      sheet.style.width = `calc(${longest}ch + 12px)`;
    });
    let first = fresh ? this.view.findIndex((n) => this.isSame(n)) : this.view.indexOf(kept);
    if (fresh && first < 0) first = this.view.findIndex((n) => this.isChange(n));
    if (fresh) for (const pane of this.panes) pane.scrollLeft = 0;
    this.cursor = 0;
    this.moveTo(Math.max(first, 0), fresh);
    this.draw();
    this.count();
  }

  isChange(entry) {
    return typeof entry === "number" && this.rows[entry][2];
  }

  isSame(entry) {
    return typeof entry === "number" && this.rows[entry].slice(0, 2).some((line) => this.sameSource(line) === 2);
  }

  // 2: a line of a chosen source op; 1: one that was lowered together with it.
  sameSource(line) {
    if (line < 0 || !this.chosen.size) return 0;
    if (this.own[line].some((s) => this.chosen.has(s))) return 2;
    return this.group[line].some((s) => this.chosen.has(s)) ? 1 : 0;
  }

  moveTo(to, top = false) {
    this.cursor = Math.max(0, Math.min(to, this.view.length - 1));
    const y = this.cursor * LINE, pane = this.panes[0];
    if (top) this.scrollTo(y - 2 * LINE);
    else if (y < pane.scrollTop) this.scrollTo(y);
    else if (y + LINE > pane.scrollTop + pane.clientHeight) this.scrollTo(y + 2 * LINE - pane.clientHeight);
    this.draw();
    this.describe();
  }

  scrollTo(y) {
    for (const pane of this.panes) pane.scrollTop = Math.max(0, y);
  }

  // The next change, or the one before.
  change(by) {
    let to = this.cursor;
    if (this.isChange(this.view[to])) while (this.isChange(this.view[to])) to += by;
    while (to in this.view && !this.isChange(this.view[to])) to += by;
    if (by < 0) while (this.isChange(this.view[to - 1])) to--;
    if (to in this.view) this.moveTo(to);
  }

  // Draw the rows in view, in the next frame; a scroll draws only where it leaves the drawn rows.
  draw(all = true) {
    if (all) this.drawn = ["", ""];
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.drawNow();
    });
  }

  drawNow() {
    this.panes.forEach((pane, side) => {
      const first = Math.floor(pane.scrollTop / LINE / MARGIN) - 1;
      const last = Math.ceil((pane.scrollTop + pane.clientHeight) / LINE / MARGIN) + 1;
      if (this.drawn[side] === `${first}-${last}`) return;
      this.drawn[side] = `${first}-${last}`;
      const rows = [];
      for (let n = Math.max(0, first * MARGIN); n < Math.min(this.view.length, last * MARGIN); n++)
        rows.push(this.rowElement(n, side));
      pane.firstElementChild.replaceChildren(...rows);
    });
  }

  rowElement(at, side) {
    const element = document.createElement("div"), entry = this.view[at];
    element.dataset.at = at;
    element.style.top = `${at * LINE}px`;
    element.className = "row";
    if (at === this.cursor) element.classList.add("cursor");
    if (typeof entry !== "number") {
      element.classList.add("folded");
      element.textContent = `⋯ ${(entry[1] - entry[0]).toLocaleString("en")} unchanged lines`;
      return element;
    }
    const row = this.rows[entry], line = row[side];
    if (line < 0) {
      element.classList.add("none");
      return element;
    }
    element.classList.add("line");
    if (row[2]) element.classList.add(side ? "new" : "gone");
    element.classList.add(...[[], ["near"], ["same-source"]][this.sameSource(line)]);
    const text = this.texts[line], other = row[1 - side];
    const part = row[2] && other >= 0 ? differing(text, this.texts[other]) : null;
    fillLine(element, text, part, this.query);
    return element;
  }

  // Choose the source ops of a line; a folded run opens.
  choose(at, side) {
    const entry = this.view[at];
    this.cursor = at;
    if (typeof entry !== "number") {
      for (let n = entry[0]; n < entry[1]; n++) this.opened.add(n);
      this.view[at] = entry[0];
      return this.refold();
    }
    const row = this.rows[entry], line = row[side] < 0 ? row[1 - side] : row[side];
    const found = this.own[line].length ? this.own[line] : this.group[line];
    this.chooseSources(found.every((s) => this.chosen.has(s)) && found.length === this.chosen.size ? [] : found);
  }

  chooseSources(found) {
    this.chosen = new Set(found);
    this.buttons.forEach((button, n) =>
      button.classList.toggle("touched", found.some((s) => this.touched[n].has(s))));
    this.refold();
    this.remember();
  }

  remember() {
    const words = new URLSearchParams({ step: this.at });
    const [first] = this.chosen;
    if (first !== undefined) words.set("op", this.sources[first][0]);
    history.replaceState(null, "", `#${words}`);
    this.buttons.forEach((button, n) =>
      button.classList.toggle("touched", [...this.chosen].some((s) => this.touched[n].has(s))));
  }

  // What is chosen, or else what the cursor is on.
  describe() {
    const box = byId("detail"), parts = [];
    const paragraph = (...children) => {
      const p = document.createElement("p");
      p.append(...children);
      parts.push(p);
    };
    if (!this.chosen.size) {
      const entry = this.view[this.cursor];
      const row = typeof entry === "number" ? this.rows[entry] : [-1, -1];
      const names = [...new Set(row.slice(0, 2).flatMap((line) => (line < 0 ? [] : this.own[line])))];
      paragraph(names.length ? `Line of ${names.map((s) => this.sourceText(s)).join("; ")}.` : "This line has no source op.");
      paragraph("Select a line (click, or Enter) to highlight every line of the same source op, in both panes and in all passes. Then N and P step through the passes that change it.");
    }
    for (const source of [...this.chosen].slice(0, 4)) {
      const b = document.createElement("b");
      b.textContent = this.sources[source][0];
      const [before, after] = this.snapshots[this.at].map((lines) => lines.filter((l) => this.own[l].includes(source)).length);
      paragraph("Source op ", b, ` ${this.sourceText(source, false)}: ${before} lines before, ${after} after this pass.`);
      const links = this.steps.flatMap((step, n) => (this.touched[n].has(source) ? [this.link(n)] : []));
      paragraph(links.length ? "Changed by " : "No pass changes its lines.", ...links.flatMap((link, n) => (n ? [", ", link] : [link])));
    }
    box.replaceChildren(...parts);
  }

  sourceText(source, named = true) {
    const [name, opcode, framework, place] = this.sources[source];
    const rest = [opcode, framework, place].filter((text) => text && text !== name).join(" · ");
    return (named ? `${name} ` : "") + (rest && `(${rest})`);
  }

  link(number) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "op";
    button.textContent = this.steps[number].name;
    if (number === this.at) button.setAttribute("aria-current", "step");
    button.addEventListener("click", () => this.show(number));
    return button;
  }

  search(text) {
    this.query = text.toLowerCase();
    this.hits = new Set();
    if (this.query)
      this.texts.forEach((line, n) => line.toLowerCase().includes(this.query) && this.hits.add(n));
    this.buttons.forEach((button, n) =>
      button.classList.toggle("hit", this.hits.size > 0 && this.snapshots[n][1].some((line) => this.hits.has(line))));
    this.draw();
    this.count();
  }

  isHit(n) {
    return this.rows[n].slice(0, 2).some((line) => this.hits.has(line));
  }

  count() {
    const rows = this.query ? this.rows.filter((_, n) => this.isHit(n)).length : 0;
    byId("found").textContent = this.query ? `${rows} lines` : "";
  }

  // The next line with the text of the search, in a folded run, too.
  nextHit(by) {
    if (!this.query) return;
    const entry = this.view[this.cursor];
    const here = typeof entry === "number" ? entry : entry[0];
    const size = this.rows.length;
    for (let k = 1; k <= size; k++) {
      const n = (((here + k * by) % size) + size) % size;
      if (!this.isHit(n)) continue;
      this.opened.add(n);
      this.refold();
      this.moveTo(this.view.indexOf(n));
      return;
    }
  }
}

async function main() {
  const explorer = new Explorer(await unpacked("data"));
  explorer.start();
  explorer.drawNow();
  explorer.ready = performance.now();
  window.page = explorer;
  document.body.dataset.ready = "yes";
}

main();
