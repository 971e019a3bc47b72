// A map of points in groups on a canvas: it can be moved and zoomed, and draws at most kMostPoints of the points in view.
const kMostPoints = 20000;
const kDeepest = 400;  // times larger than the whole map
const kReach = 14;     // pixels from a point that still mean it
const kNames = 40;

class PointMap {
  // x, y: from 0 to 1. group: the number of each point's group. points: the order in which they are drawn while there is room.
  // groups: [{ label, x, y }]. nameOf(point) is drawn beside some.
  constructor(canvas, { x, y, group, points, groups, nameOf, hovered, picked }) {
    Object.assign(this, { canvas, x, y, group, points, groups, nameOf, hovered, picked });
    this.marks = [];
    this.chosen = this.hover = this.onlyGroup = null;
    this.pointers = new Map();
    this.drawn = [];
    this.view = { x: 0.5, y: 0.5, zoom: 1 };
    this.layer = document.createElement('canvas');
    this.measure();
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
    this.listen();
  }

  // Where (x, y) is on the canvas, in pixels, after measure().
  toX(x) { return x * this.scale + this.left; }
  toY(y) { return this.top - y * this.scale; }
  measure() {
    [this.width, this.height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    this.scale = this.view.zoom * Math.max(1, Math.min(this.width, this.height) - 48);
    this.left = this.width / 2 - this.view.x * this.scale;
    this.top = this.height / 2 + this.view.y * this.scale;
  }

  set(changes) {
    Object.assign(this, changes);
    this.draw();
  }
  move(dx, dy) {
    const inside = (value) => Math.min(1, Math.max(0, value));
    this.view.x = inside(this.view.x - dx / this.scale);
    this.view.y = inside(this.view.y + dy / this.scale);
    this.measure();
    this.draw();
  }
  // What is at (px, py) stays there.
  zoomBy(factor, px = this.width / 2, py = this.height / 2) {
    const before = this.scale;
    this.view.zoom = Math.min(kDeepest, Math.max(1, this.view.zoom * factor));
    this.measure();
    const share = 1 / before - 1 / this.scale;
    this.view.x += (px - this.width / 2) * share;
    this.view.y -= (py - this.height / 2) * share;
    this.move(0, 0);
  }
  showAll() {
    this.view = { x: 0.5, y: 0.5, zoom: 1 };
    this.move(0, 0);
  }
  // Moves so that a point is in view, and leaves the zoom alone.
  reveal(point) {
    this.measure();
    const [x, y] = [this.toX(this.x[point]), this.toY(this.y[point])];
    if (x > 40 && y > 30 && x < this.width - 40 && y < this.height - 30) return;
    Object.assign(this.view, { x: this.x[point], y: this.y[point] });
    this.move(0, 0);
  }

  draw() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = undefined;
      this.paint();
    });
  }
  paint() {
    this.measure();
    const { canvas, width, height } = this;
    const ratio = devicePixelRatio || 1;
    this.theme = getComputedStyle(document.documentElement);
    // The points change rarely, and the rest with every movement of the pointer.
    const state = [width, height, ratio, this.view.x, this.view.y, this.view.zoom, this.dark, this.onlyGroup].join();
    if (state !== this.state) {
      this.state = state;
      for (const one of [canvas, this.layer]) [one.width, one.height] = [Math.round(width * ratio), Math.round(height * ratio)];
      const layer = this.layer.getContext('2d');
      layer.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.paintPoints(layer, ratio);
    }
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.globalAlpha = this.onlyGroup === null && (this.marks.length > 0 || this.chosen !== null) ? 0.35 : 1;
    if (this.layer.width > 0 && this.layer.height > 0) context.drawImage(this.layer, 0, 0, width, height);
    context.globalAlpha = 1;
    this.boxes = [];
    this.paintMarks(context);
    this.paintNames(context, width, height);
  }
  get dark() { return matchMedia('(prefers-color-scheme: dark)').matches; }
  color(group, forText = false) {
    const hue = (25 + 137.508 * group) % 360;
    if (forText) return this.dark ? `oklch(.86 .09 ${hue})` : `oklch(.42 .12 ${hue})`;
    return this.dark ? `oklch(.72 .13 ${hue})` : `oklch(.64 .14 ${hue})`;
  }
  // A picture of a point of each group, because pictures are drawn faster than paths.
  dots(radius, ratio) {
    return this.groups.map((_, group) => {
      const dot = document.createElement('canvas');
      dot.width = dot.height = Math.ceil(2 * radius * ratio) + 2;
      const context = dot.getContext('2d');
      context.fillStyle = this.color(group);
      context.globalAlpha = this.onlyGroup === null || this.onlyGroup === group ? 0.85 : 0.2;
      context.arc(dot.width / 2, dot.width / 2, radius * ratio, 0, 7);
      context.fill();
      return dot;
    });
  }
  paintPoints(context, ratio) {
    const { width, height, scale, left, top } = this;
    const radius = Math.min(4.5, 0.9 + 0.55 * Math.log2(this.view.zoom) + Math.min(width, height) / 1500);
    const dots = this.dots(radius, ratio);
    const size = dots[0].width / ratio;
    this.drawn = [];
    for (const point of this.points) {
      const [x, y] = [this.x[point] * scale + left, top - this.y[point] * scale];
      if (x < -5 || y < -5 || x > width + 5 || y > height + 5) continue;
      context.drawImage(dots[this.group[point]], x - size / 2, y - size / 2, size, size);
      if (this.drawn.push(point) === kMostPoints) break;
    }
  }
  paintMarks(context) {
    const marks = [...this.marks, ...(this.hover === null ? [] : [this.hover]), ...(this.chosen === null ? [] : [this.chosen])];
    for (const point of marks) {
      context.beginPath();
      context.arc(this.toX(this.x[point]), this.toY(this.y[point]), point === this.chosen ? 7 : 5, 0, 7);
      context.fillStyle = this.color(this.group[point]);
      context.fill();
      context.lineWidth = 2;
      context.strokeStyle = this.theme.getPropertyValue(point === this.chosen || point === this.hover ? '--text' : '--card');
      context.stroke();
    }
  }
  // Draws text beside or around a place, unless it would cover another.
  paintText(context, text, x, y, { color, centered = false, always = false }) {
    const width = context.measureText(text).width;
    const left = centered ? x - width / 2 : x + width + 12 > this.width ? x - width - 10 : x + 10;
    const box = [left - 3, y - 9, left + width + 3, y + 9];
    const covers = this.boxes.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
    if (covers && !always) return false;
    this.boxes.push(box);
    context.lineJoin = 'round';
    context.lineWidth = 4;
    context.strokeStyle = this.theme.getPropertyValue('--halo');
    context.strokeText(text, left, y);
    context.fillStyle = color;
    context.fillText(text, left, y);
    return true;
  }
  paintNames(context, width, height) {
    const text = this.theme.getPropertyValue('--text');
    const beside = (point, options) => this.paintText(context, this.nameOf(point), this.toX(this.x[point]), this.toY(this.y[point]), options);
    context.textBaseline = 'middle';
    context.font = '600 13px system-ui, sans-serif';
    if (this.chosen !== null) beside(this.chosen, { color: text, always: true });
    context.font = '12.5px system-ui, sans-serif';
    for (const point of this.marks) if (point !== this.chosen) beside(point, { color: text });
    context.font = `600 ${width < 600 ? 11.5 : 13}px system-ui, sans-serif`;
    this.groups.forEach(({ label, x, y }, group) => {
      const [left, top] = [this.toX(x), this.toY(y)];
      if ((this.onlyGroup ?? group) !== group || left < 0 || top < 8 || left > width || top > height - 8) return;
      const half = context.measureText(label).width / 2 + 6;
      this.paintText(context, label, Math.min(Math.max(left, half), width - half), top, { color: this.color(group, true), centered: true });
    });
    if (this.view.zoom < 6) return;
    context.font = '12px system-ui, sans-serif';
    let names = 0;
    for (const point of this.drawn) if (names < kNames && beside(point, { color: text })) ++names;
  }

  pointAt(px, py) {
    let nearest = null;
    let least = kReach ** 2;
    for (const point of [...this.marks, ...this.drawn]) {
      const distance = (this.toX(this.x[point]) - px) ** 2 + (this.toY(this.y[point]) - py) ** 2;
      if (distance < least) [nearest, least] = [point, distance];
    }
    return nearest;
  }
  hoverAt(point, px, py) {
    this.canvas.classList.toggle('over', point !== null);
    if (point !== this.hover) this.set({ hover: point });
    this.hovered(point, px, py);
  }

  listen() {
    const { canvas, pointers } = this;
    let travelled = 0;
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
      travelled = pointers.size > 1 ? Infinity : 0;
    });
    canvas.addEventListener('pointermove', (event) => {
      const before = pointers.get(event.pointerId);
      const now = [event.offsetX, event.offsetY];
      if (!before) return this.hoverAt(this.pointAt(...now), ...now);
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      pointers.set(event.pointerId, now);
      travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (travelled < 4) return undefined;
      canvas.classList.add('moving');
      this.hoverAt(null);
      const share = other ? 0.5 : 1;
      this.move(share * (now[0] - before[0]), share * (now[1] - before[1]));
      if (other) {
        const apart = (place) => Math.max(10, Math.hypot(place[0] - other[0], place[1] - other[1]));
        this.zoomBy(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      }
      return undefined;
    });
    for (const kind of ['pointerup', 'pointercancel'])
      canvas.addEventListener(kind, (event) => {
        if (!pointers.delete(event.pointerId)) return;
        canvas.classList.remove('moving');
        const point = travelled < 4 && kind === 'pointerup' ? this.pointAt(event.offsetX, event.offsetY) : null;
        if (point !== null) this.picked(point);
      });
    canvas.addEventListener('pointerleave', () => this.hoverAt(null));
    canvas.addEventListener('dblclick', (event) => this.zoomBy(2, event.offsetX, event.offsetY));
    canvas.addEventListener('wheel', (event) => {
      // Where the page itself scrolls, the wheel is the page's.
      if (document.documentElement.scrollHeight > innerHeight + 1 && !event.ctrlKey) return;
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : event.ctrlKey ? 0.01 : 0.002)), event.offsetX, event.offsetY);
    }, { passive: false });
    const keys = { ArrowLeft: () => this.move(60, 0), ArrowRight: () => this.move(-60, 0), ArrowUp: () => this.move(0, 60),
                   ArrowDown: () => this.move(0, -60), '+': () => this.zoomBy(1.5), '=': () => this.zoomBy(1.5),
                   '-': () => this.zoomBy(1 / 1.5), 0: () => this.showAll() };
    canvas.addEventListener('keydown', (event) => {
      if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
    });
  }
}
