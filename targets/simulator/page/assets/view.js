// What of the timeline and of the memory maps is in view, as boxes of at most a few thousand.
// Times are in units of the data until they go to a figure, which has us.

function summed(differences) {
  let total = 0;
  return differences.map((step) => (total += step));
}

// Boxes narrower than this many pixels are joined in bins of that width.
const BIN_PIXELS = 4;

class Timeline {
  constructor(data, sources, colorOf) {
    Object.assign(this, data);
    this.sources = sources;
    this.colorOf = colorOf;
    this.scale = 1000 * data.units;
    this.begin = summed(data.begin);
    this.longest = this.tracks.map((_, t) => {
      let most = 0;
      for (let i = this.starts[t]; i < this.starts[t + 1]; i++) most = Math.max(most, this.length[i]);
      return most;
    });
  }

  nameAt(i) {
    const source = this.sources[this.ops[this.op[i]][2]];
    return (source && source[0]) || this.ops[this.op[i]][0];
  }

  trackOf(i) {
    let track = 0;
    while (this.starts[track + 1] <= i) track++;
    return track;
  }

  firstFrom(track, time) {
    let low = this.starts[track], high = this.starts[track + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.begin[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Boxes of [left, right] us for a figure that is `pixels` wide.
  boxes(left, right, pixels, chosen) {
    const from = left * this.scale, to = right * this.scale;
    const width = Math.max(1, ((to - from) / pixels) * BIN_PIXELS);
    const out = { left: [], right: [], y: [], color: [], alpha: [], name: [], what: [], when: [], index: [] };
    for (let track = 0; track < this.tracks.length; track++) {
      let bin = null;
      for (let i = this.firstFrom(track, from - this.longest[track]); i < this.starts[track + 1]; i++) {
        const begin = this.begin[i], end = begin + this.length[i];
        if (begin > to) break;
        if (end < from) continue;
        if (this.length[i] >= width) {
          this.put(out, track, begin, end, [this.nameAt(i)], this.countAt(i), 1, i, chosen);
          continue;
        }
        const at = Math.floor(begin / width);
        if (bin && bin.at !== at) {
          this.flush(out, track, bin, width, chosen);
          bin = null;
        }
        bin = bin || { at, begin, end, count: 0, busy: 0, names: new Map(), index: i };
        bin.end = Math.max(bin.end, end);
        bin.count += this.countAt(i);
        const busy = this.busy.length ? this.busy[i] : this.length[i];
        bin.busy += busy;
        const name = this.nameAt(i);
        bin.names.set(name, (bin.names.get(name) || 0) + busy);
      }
      if (bin) this.flush(out, track, bin, width, chosen);
    }
    return out;
  }

  countAt(i) {
    return this.count.length ? this.count[i] : 1;
  }

  flush(out, track, bin, width, chosen) {
    const names = [...bin.names].sort((a, b) => b[1] - a[1]).map((entry) => entry[0]);
    const alone = bin.count === 1;
    const full = alone ? 1 : Math.max(0.25, Math.min(1, bin.busy / Math.max(width, bin.end - bin.begin)));
    this.put(out, track, bin.begin, bin.end, names, bin.count, full, bin.index, chosen);
  }

  put(out, track, begin, end, names, count, full, index, chosen) {
    const name = chosen && names.includes(chosen) ? chosen : names[0];
    out.left.push(begin / this.scale);
    out.right.push(Math.max(end, begin + 1) / this.scale);
    out.y.push(this.tracks[track]);
    out.color.push(this.colorOf(name));
    out.alpha.push(!chosen || name === chosen ? full : 0.12);
    out.name.push(names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", "));
    out.what.push(count === 1 ? this.ops[this.op[index]][0] : `${count} instructions`);
    out.when.push(span(begin / this.scale, end / this.scale));
    out.index.push(count === 1 ? index : -1);
  }

  // First and last moment of an op, in us.
  extent(name) {
    let from = Infinity, to = -Infinity;
    for (let i = 0; i < this.begin.length; i++)
      if (this.nameAt(i) === name) {
        from = Math.min(from, this.begin[i]);
        to = Math.max(to, this.begin[i] + this.length[i]);
      }
    return from < to ? [from / this.scale, to / this.scale] : null;
  }
}

class MemoryMap {
  constructor(data, sources, units, colorOf) {
    Object.assign(this, data.lives);
    this.sources = sources;
    this.colorOf = colorOf;
    this.scale = 1000 * units;
    this.begin = summed(data.lives.begin);
    this.line = { x: data.levels.time.map((t) => t / this.scale), y: data.levels.bytes.map((b) => b / 1024) };
  }

  boxes(left, right, pixels, chosen) {
    const from = left * this.scale, to = right * this.scale;
    const width = ((to - from) / pixels) * 2;
    const seen = new Map();
    const out = { left: [], right: [], bottom: [], top: [], color: [], alpha: [], name: [], what: [], when: [], index: [] };
    for (let i = 0; i < this.begin.length; i++) {
      const begin = this.begin[i], end = begin + this.length[i];
      if (begin > to) break;
      if (end < from) continue;
      if (this.length[i] < width) {
        // Of short lives in one place a box for each two pixels is enough.
        const key = `${this.low[i]}-${this.high[i]}`, at = Math.floor(begin / width);
        if (seen.get(key) === at) continue;
        seen.set(key, at);
      }
      const source = this.sources[this.source[i]];
      const name = source ? source[0] : "";
      out.left.push(begin / this.scale);
      out.right.push(Math.max(end, begin + width / 2) / this.scale);
      out.bottom.push(this.low[i] / 1024);
      out.top.push(this.high[i] / 1024);
      out.color.push(this.colorOf(name));
      out.alpha.push(!chosen || name === chosen ? 0.75 : 0.1);
      out.name.push(name);
      out.what.push(`bytes ${this.low[i]} to ${this.high[i]} of ${this.partitions[i]} partitions`);
      out.when.push(span(begin / this.scale, end / this.scale));
      out.index.push(i);
    }
    return out;
  }
}

function span(from, to) {
  return `${from.toFixed(3)} to ${to.toFixed(3)} us (${(to - from).toFixed(3)})`;
}
