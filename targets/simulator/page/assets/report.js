// The page: unpack the data, show the figures, join timeline, details and tables.

class Page {
  constructor(data, documents) {
    this.data = data;
    this.find = (name) => {
      for (const one of documents) {
        const model = one.get_model_by_name(name);
        if (model) return model;
      }
      return null;
    };
    const colorOf = (name) => data.colors[name] || data.others;
    this.timeline = new Timeline(data.timeline, data.sources, colorOf);
    this.maps = Object.entries(data.memory).map(([space, part]) =>
      [space, new MemoryMap(part, data.sources, data.timeline.units, colorOf)]);
    this.range = this.find("time");
    this.end = this.range.end;
    this.chosen = "";
    this.selected = -1;
    this.waiting = false;
  }

  start() {
    for (const edge of ["start", "end"]) this.range.properties[edge].change.connect(() => this.later());
    for (const [space, map] of this.maps) this.find(`${space}-levels`).data = map.line;
    this.listen("slices", (source, at) => this.tapSlice(source, at));
    for (const [space] of this.maps)
      this.listen(`${space}-lives`, (source, at) => this.choose(source.data.name[at]));
    this.listen("points", (source, at) => this.showRow(source.data.name[at]));
    for (const [id, action] of Object.entries({
      "zoom-in": () => this.zoom(0.5), "zoom-out": () => this.zoom(2), earlier: () => this.pan(-0.4),
      later: () => this.pan(0.4), whole: () => this.show(0, this.end), "op-zoom": () => this.zoomToOp(),
      previous: () => this.step(-1), next: () => this.step(1),
    })) byId(id).addEventListener("click", action);
    byId("time-figures").addEventListener("keydown", (event) => this.key(event));
    const choice = byId("op-choice");
    for (const row of byId("ops").tBodies[0].rows)
      if (row.dataset.op) choice.add(new Option(row.dataset.op, row.dataset.op));
    choice.addEventListener("change", () => this.choose(choice.value));
    for (const button of document.querySelectorAll("button.op"))
      button.addEventListener("click", () => {
        this.choose(button.dataset.op || button.closest("tr").dataset.op);
        this.zoomToOp();
        byId("timeline-section").scrollIntoView();
        byId("op-choice").focus({ preventScroll: true });
      });
    this.draw();
  }

  listen(name, action) {
    const source = this.find(name);
    source.selected.properties.indices.change.connect(() => {
      const at = source.selected.indices[0];
      if (at === undefined) return;
      source.selected.indices = [];
      action(source, at);
    });
  }

  // Ranges change twice in a zoom, and often in a drag: draw once a frame.
  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const { start, end } = this.range;
    const pixels = Math.max(300, byId("time-figures").clientWidth - 140);
    this.find("slices").data = this.timeline.boxes(start, end, pixels, this.chosen);
    for (const [space, map] of this.maps)
      this.find(`${space}-lives`).data = map.boxes(start, end, pixels, this.chosen);
    byId("range").textContent = `${start.toFixed(2)} to ${end.toFixed(2)} us`;
  }

  show(start, end) {
    const width = Math.max(0.002, Math.min(end - start, this.end));
    const from = Math.max(0, Math.min(start, this.end - width));
    this.range.setv({ start: from, end: from + width });
  }

  zoom(factor) {
    const { start, end } = this.range;
    const middle = (start + end) / 2, half = ((end - start) / 2) * factor;
    this.show(middle - half, middle + half);
  }

  pan(share) {
    const { start, end } = this.range;
    this.show(start + share * (end - start), end + share * (end - start));
  }

  key(event) {
    const action = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.show(0, this.end),
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2),
    }[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  }

  choose(name) {
    this.chosen = name || "";
    byId("op-choice").value = this.chosen;
    for (const row of byId("ops").tBodies[0].rows) row.classList.toggle("chosen", row.dataset.op === name);
    this.draw();
  }

  zoomToOp() {
    const extent = this.chosen ? this.timeline.extent(this.chosen) : [0, this.end];
    if (!extent) return;
    const margin = 0.05 * (extent[1] - extent[0]);
    this.show(extent[0] - margin, extent[1] + margin);
  }

  tapSlice(source, at) {
    const index = source.data.index[at];
    if (index >= 0) return this.select(index);
    const left = source.data.left[at], right = source.data.right[at];
    const margin = Math.max(0.1 * (right - left), (this.range.end - this.range.start) / 100);
    this.show(left - margin, right + margin);
  }

  // The instruction before or after on the track; the first in view where none is selected.
  step(by) {
    const t = this.timeline;
    if (this.selected < 0) return this.select(Math.min(t.firstFrom(0, this.range.start * t.scale), t.begin.length - 1));
    const track = t.trackOf(this.selected);
    const next = Math.min(Math.max(this.selected + by, t.starts[track]), t.starts[track + 1] - 1);
    this.select(next);
    const from = t.begin[next] / t.scale, to = from + t.length[next] / t.scale;
    if (from < this.range.start || to > this.range.end) {
      const half = (this.range.end - this.range.start) / 2;
      this.show((from + to) / 2 - half, (from + to) / 2 + half);
    }
  }

  select(index) {
    this.selected = index;
    const t = this.timeline, [opcode, operands, number] = t.ops[t.op[index]];
    const [name, hlo, framework, place] = this.data.sources[number] || ["", "", "", ""];
    const box = byId("detail");
    const line = (label, text) => {
      const p = document.createElement("p"), b = document.createElement("b");
      b.textContent = `${label}: `;
      p.append(b, text);
      return p;
    };
    const back = document.createElement("button");
    back.type = "button";
    back.className = "op";
    back.textContent = name || "-";
    back.addEventListener("click", () => this.showRow(name));
    const source = line("source op", "");
    source.append(back, [hlo && ` (${hlo})`, framework, place].filter(Boolean).join(" · "));
    const from = t.begin[index] / t.scale;
    const joined = t.countAt(index) > 1 ? ` (the first of ${t.countAt(index)})` : "";
    const lines = [
      line("instruction", `${opcode}${joined} on ${t.tracks[t.trackOf(index)]}, ${span(from, from + t.length[index] / t.scale)}`),
      line("operands", operands), source,
    ];
    const cause = t.cause.length ? t.cause[index] : -1;
    if (cause >= 0) {
      const go = document.createElement("button");
      go.type = "button";
      go.className = "op";
      go.textContent = `${t.ops[t.op[cause]][0]} of ${t.nameAt(cause)} on ${t.tracks[t.trackOf(cause)]}`;
      go.addEventListener("click", () => this.select(cause));
      const waited = line("waited last for", "");
      waited.append(go);
      lines.push(waited);
    }
    box.replaceChildren(...lines);
    this.choose(name);
  }

  showRow(name) {
    this.choose(name);
    const row = [...byId("ops").tBodies[0].rows].find((one) => one.dataset.op === name);
    if (!row) return;
    row.hidden = false;
    row.scrollIntoView({ block: "center" });
    row.querySelector("button.op").focus({ preventScroll: true });
  }
}

async function main() {
  setUpTables();
  const data = await unpacked("data");
  const documents = await drawFigures();
  const page = new Page(data, documents);
  page.start();
  page.ready = performance.now();
  window.page = page;
  document.body.dataset.ready = "yes";
}

main();
