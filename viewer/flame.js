// SPDX-License-Identifier: Apache-2.0
// The interactive part of a flame graph (src/view/flame_data.c writes what it reads). It draws
// the boxes of the current zoom from the data, so that a zoom shows what was too narrow before.
(function () {
'use strict';
const script = document.currentScript;
const svg = script && script.closest ? script.closest('svg') : document.documentElement;
const data = JSON.parse(svg.querySelector('metadata').textContent);
const SVG = 'http://www.w3.org/2000/svg', HTML = 'http://www.w3.org/1999/xhtml';
const ROW = 18, BOX = 17, MARGIN = 12, FACT = 17, LEGEND = 20, PAD = 4;
const SIDES = data.diff ? 2 : 1, FIELDS = 2 + 4 * SIDES;
const KINDS = ['', 'all', 'process', 'thread', 'range'];
const ORIGINS = ['your code', 'your code', 'standard library', 'package', 'native code', 'on the device:'];

// ---- the boxes -----------------------------------------------------------------------------

function readCells() {
    const cells = [], path = [];
    for (let at = 0; at < data.cells.length; at += FIELDS) {
        const c = data.cells;
        path.length -= c[at];
        const parent = path.length ? path[path.length - 1] : -1;
        const label = c[at + 1] < 0 ? -1 : c[at + 1];
        const cell = {i: cells.length, parent, depth: path.length, label,
            folded: label < 0 ? -c[at + 1] : 0, total: [], self: [], waiting: [], unread: [],
            end: 0, left: []};
        for (let s = 0; s < SIDES; s++) {
            const f = at + 2 + 4 * s;
            cell.total.push(c[f]);
            cell.self.push(c[f + 1]);
            cell.waiting.push(c[f + 2]);
            cell.unread.push(c[f + 3]);
            cell.left.push(0);
        }
        cells.push(cell);
        path.push(cell.i);
    }
    const next = cells.map((cell) => cell.left.slice());
    for (const cell of cells) {
        for (let s = 0; s < SIDES; s++) {
            if (cell.parent >= 0) {
                cell.left[s] = next[cell.parent][s];
                next[cell.parent][s] += cell.total[s];
            }
            next[cell.i][s] = cell.left[s];
        }
    }
    for (let i = cells.length - 1; i >= 0; i--) {
        cells[i].end = Math.max(cells[i].end, i + 1);
        if (cells[i].parent >= 0) {
            const parent = cells[cells[i].parent];
            parent.end = Math.max(parent.end, cells[i].end);
        }
    }
    return cells;
}

function readLabels() {
    const labels = [], l = data.labels, t = data.texts;
    for (let at = 0; at < l.length; at += 6) {
        const label = {name: t[l[at]], file: t[l[at + 1]], line: l[at + 2], pack: t[l[at + 3]],
            kind: l[at + 4] >> 3, origin: l[at + 4] & 7, paint: l[at + 5]};
        label.place = label.file + (label.file && label.line > 0 ? ':' + label.line : '');
        label.text = label.name + (label.place ? ' (' + label.place + ')' : '');
        labels.push(label);
    }
    return labels;
}

const cells = readCells(), labels = readLabels();
const rows = cells.reduce((most, cell) => Math.max(most, cell.depth + 1), 1);
const state = {zoom: 0, search: '', matchCase: false, side: data.baseWidths ? 1 : 0,
    bySamples: data.bySamples, focus: -1};

function foldText(n) {
    return '…(' + n.toLocaleString('en-US') + (n === 1 ? ' frame)' : ' frames)');
}
function textOf(cell) {
    return cell.label < 0 ? foldText(cell.folded) : labels[cell.label].text;
}

// A box is named by a hash over the labels from the root to it: a link keeps its meaning when the
// graph is made again.
function pathHash(cell) {
    const names = [];
    for (let c = cell; c.parent >= 0; c = cells[c.parent]) {
        names.push(c.label < 0 ? '…' : labels[c.label].text);
    }
    let a = 0x811c9dc5, b = 0x1b873593;
    for (const ch of names.reverse().join('\n')) {
        const code = ch.codePointAt(0);
        a = Math.imul(a ^ code, 0x01000193);
        b = Math.imul(b ^ code, 0x85ebca6b) ^ (b >>> 13);
    }
    return (a >>> 0).toString(36) + (b >>> 0).toString(36);
}

// ---- numbers -------------------------------------------------------------------------------

const all = cells[0];
function percent(share) {
    const p = 100 * share;
    return (p >= 99.95 || p === 0 ? p.toFixed(0) : p >= 0.095 ? p.toFixed(1) : p.toFixed(2)) + ' %';
}
// Half width of Wilson's 95 % interval, over the ticks at which stacks were really read.
function errorOf(hits, records, ticks) {
    if (!records || !ticks) {
        return 0;
    }
    const z = 1.959964, p = hits / records, z2n = z * z / records;
    const centre = (p + z2n / 2) / (1 + z2n);
    const half = z / (1 + z2n) * Math.sqrt(p * (1 - p) / records + z2n / (4 * records));
    return Math.max(centre + half - p, p - centre + half) * records / ticks;
}
function errorOfCell(cell, side) {
    return errorOf(cell.total[side] - cell.unread[side], all.total[side] - all.unread[side],
        all.total[side]);
}
function points(error) {
    if (data.deviceTime) {
        return ''; // measured, not sampled
    }
    const p = 100 * error;
    return '± ' + (p >= 0.095 || p === 0 ? p.toFixed(1) : p.toFixed(2));
}
function count(n) {
    return n.toLocaleString('en-US');
}
// The weight of a box: nanoseconds on a device, or samples.
function weight(n) {
    if (!data.deviceTime) {
        return count(n);
    }
    const [unit, name] = n >= 1e9 ? [1e9, ' s'] : n >= 1e6 ? [1e6, ' ms'] : n >= 1e3 ? [1e3, ' µs'] : [1, ' ns'];
    return (n / unit).toPrecision(3).replace(/e\+?(\d+)$/, '') + name;
}
function seconds(samples) {
    if (!data.rate) {
        return '';
    }
    const s = samples / data.rate;
    return s >= 100 ? s.toFixed(0) + ' s' : s >= 1 ? s.toFixed(2) + ' s' : (1000 * s).toFixed(0) + ' ms';
}
function scaleOf(side) {
    return data.diff && state.bySamples ? all.total[1] : all.total[side];
}
// The change of a share and its 95 % uncertainty (as diff_step in flame_svg.c).
function changeOf(cell) {
    const share = [0, 1].map((s) => cell.total[s] / scaleOf(s));
    const spread = [0, 1].map((s) => (state.bySamples ? share[s] : share[s] * (1 - share[s])) / scaleOf(s));
    return {change: share[0] - share[1], error: data.deviceTime ? 0 : 1.96 * Math.sqrt(Math.max(0, spread[0]) + Math.max(0, spread[1]))};
}
function paintOf(cell) {
    if (data.diff) {
        const d = changeOf(cell), size = Math.abs(d.change);
        if (size <= d.error || size === 0) {
            return 'i0';
        }
        const step = size < .005 ? 1 : size < .01 ? 2 : size < .025 ? 3 : size < .05 ? 4 : 5;
        return (d.change > 0 ? 'i' : 'd') + step;
    }
    if (cell.label < 0) {
        return 'f0';
    }
    if (labels[cell.label].kind === 0 && cell.waiting[0] * 2 > cell.total[0]) {
        return 'w0';
    }
    return labels[cell.label].paint;
}

// ---- elements ------------------------------------------------------------------------------

function element(name, attributes, parent) {
    const e = document.createElementNS(SVG, name);
    for (const key in attributes) {
        e.setAttribute(key, attributes[key]);
    }
    if (parent) {
        parent.appendChild(e);
    }
    return e;
}
function html(name, className, text, parent) {
    const e = document.createElementNS(HTML, name);
    if (className) {
        e.className = className;
    }
    if (text) {
        e.textContent = text;
    }
    if (parent) {
        parent.appendChild(e);
    }
    return e;
}

const head = svg.querySelector('.head'), boxes = svg.querySelector('.boxes');
const factsGroup = svg.querySelector('.facts'), legendGroup = svg.querySelector('.legend');
const titleText = svg.querySelector('.head .title');
svg.classList.add('live');
svg.setAttribute('tabindex', '0');
svg.setAttribute('role', 'application');
svg.style.outline = 'none';

const holder = element('foreignObject', {x: 0, y: 10, width: 10, height: 34}, svg);
const bar = html('div', 'bar', '', holder);
const found = html('span', 'found', '', bar);
found.setAttribute('role', 'status');
function button(text, hint, act) {
    const b = html('button', '', text, bar);
    b.type = 'button';
    b.title = hint;
    b.addEventListener('click', () => {
        act();
        b.blur();
    });
    return b;
}
let widthsButton, scaleButton;
if (data.diff) {
    widthsButton = button('', 'Which recording the widths are of (w)', () => change({side: 1 - state.side}));
    scaleButton = button('', 'Compare shares of the total, or samples (n)', () => change({bySamples: !state.bySamples}));
}
const input = html('input', '', '', bar);
input.type = 'search';
input.placeholder = 'Search (regex)';
input.title = 'Search by regular expression (Ctrl-F or /)';
input.setAttribute('aria-label', 'Search by regular expression');
input.spellcheck = false;
const caseButton = button('Aa', 'Match upper and lower case (Ctrl-I)', () => change({matchCase: !state.matchCase}));
const resetButton = button('Reset', 'Show everything again (Esc)', reset);

let pageWidth = svg.viewBox.baseVal.width, boxTop = 0, advance = 7.23;

function measure() {
    const probe = element('text', {x: 0, y: -100}, boxes);
    probe.textContent = '0123456789'.repeat(10);
    const length = probe.getComputedTextLength();
    probe.remove();
    if (length > 0) {
        advance = length / 100;
    }
}

// ---- head ----------------------------------------------------------------------------------

function fit(textNode, text, room) {
    textNode.textContent = text;
    if (textNode.getComputedTextLength() <= room) {
        return;
    }
    let low = 0, high = text.length;
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        textNode.textContent = text.slice(0, middle) + '…';
        if (textNode.getComputedTextLength() <= room) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    textNode.textContent = text.slice(0, low) + '…';
}

function layHead() {
    const barWidth = Math.min(pageWidth - 2 * MARGIN, data.diff ? 700 : 560);
    const below = pageWidth < 760;
    holder.setAttribute('x', pageWidth - MARGIN - barWidth);
    holder.setAttribute('y', below ? 40 : 11);
    holder.setAttribute('width', barWidth);
    fit(titleText, data.title, pageWidth - 2 * MARGIN - (below ? 0 : barWidth - 150));
    factsGroup.textContent = '';
    let y = below ? 76 : 42, line = null, room = pageWidth - 2 * MARGIN;
    for (const fact of data.facts) {
        if (line) {
            const before = line.textContent;
            line.textContent = before + ' · ' + fact;
            if (line.getComputedTextLength() <= room) {
                continue;
            }
            line.textContent = before;
        }
        y += FACT;
        line = element('text', {x: MARGIN, y}, factsGroup);
        fit(line, fact, room);
    }
    y += 12;
    legendGroup.textContent = '';
    let x = MARGIN;
    for (let at = 0; at < data.legend.length; at += 3) {
        const [paint, text, samples] = data.legend.slice(at, at + 3);
        const entry = element('g', {'class': 'entry'}, legendGroup);
        element('rect', {'class': paint, width: 11, height: 11}, entry);
        const words = element('text', {x: 16, y: 10}, entry);
        words.textContent = text + (samples ? ' ' : '');
        if (samples) {
            element('tspan', {'class': 'x'}, words).textContent = percent(samples / all.total[0]);
        }
        const width = 16 + words.getComputedTextLength() + 18;
        if (x > MARGIN && x + width > pageWidth - MARGIN) {
            x = MARGIN;
            y += LEGEND;
        }
        entry.setAttribute('transform', 'translate(' + x + ' ' + y + ')');
        x += width;
    }
    boxTop = y + (data.legend.length ? LEGEND : 0) + 4;
    const height = boxTop + rows * ROW + MARGIN;
    svg.setAttribute('viewBox', '0 0 ' + pageWidth + ' ' + height);
    svg.setAttribute('width', pageWidth);
    svg.setAttribute('height', height);
}

// ---- drawing -------------------------------------------------------------------------------

// What part of the whole is shown, in samples of the current side.
let view = {left: 0, width: all.total[state.side]};
let drawn = [];

function columnsOf(text) {
    let n = 0;
    for (const ch of text) {
        const c = ch.codePointAt(0);
        n += c >= 0x1100 && !(c >= 0x2000 && c < 0x2e80) ? 2 : 1;
    }
    return n;
}
function cut(text, room) {
    if (columnsOf(text) <= room) {
        return text;
    }
    let out = '', used = 0;
    for (const ch of text) {
        used += columnsOf(ch);
        if (used + 1 > room) {
            break;
        }
        out += ch;
    }
    return out + '…';
}
function topOf(depth) {
    return boxTop + (data.inverted ? rows - 1 - depth : depth) * ROW;
}

function drawBox(into, cell, x, width, hits, above) {
    const y = topOf(cell.depth);
    const hit = hits && cell.label >= 0 && hits[cell.label];
    const classes = paintOf(cell) + (hit ? ' hit' : '') + (above ? ' above' : '');
    const rect = element('rect', {'class': classes, x: x.toFixed(2), y,
        width: (width > 1.5 ? width - .5 : width).toFixed(2), height: BOX}, into);
    rect.cell = cell;
    const room = Math.floor((width - 2 * PAD + 1) / advance);
    if (room < 3) {
        return;
    }
    const words = element('text', {x: (x + PAD).toFixed(2), y: y + 13}, into);
    if (hit || above) {
        words.setAttribute('class', (hit ? 'hit ' : '') + (above ? 'above' : ''));
    }
    if (cell.label < 0) {
        words.textContent = cut(foldText(cell.folded), room);
        return;
    }
    const label = labels[cell.label], used = columnsOf(label.name);
    words.textContent = cut(label.name, room);
    const place = [label.place, label.place.replace(/^.*\//, '')]
        .find((text) => text && used + 1 + columnsOf(text) <= room);
    if (place) {
        words.textContent += ' ';
        element('tspan', {'class': 'x'}, words).textContent = place;
    }
}

// Neighbours too narrow to be drawn share one box.
function drawCrumb(into, crumb) {
    if (crumb && crumb.width >= .4) {
        drawBox(into, {label: -1, folded: crumb.frames, depth: crumb.depth, parent: crumb.parent,
            total: crumb.total, self: [0, 0], waiting: [0, 0], unread: crumb.unread, crumb: true},
            crumb.x, crumb.width, null, false);
    }
}

function draw() {
    const s = state.side, scale = (pageWidth - 2 * MARGIN) / view.width, hits = search.hits;
    const into = document.createDocumentFragment();
    const ancestors = new Set();
    for (let c = cells[state.zoom]; c.parent >= 0; c = cells[c.parent]) {
        ancestors.add(c.parent);
    }
    let crumb = null;
    for (let i = 0; i < cells.length;) {
        const cell = cells[i], total = cell.total[s];
        if (ancestors.has(i)) {
            drawBox(into, cell, MARGIN, pageWidth - 2 * MARGIN, hits, true);
            i++;
            continue;
        }
        const from = Math.max(cell.left[s], view.left);
        const to = Math.min(cell.left[s] + total, view.left + view.width);
        if (to <= from) {
            i = cell.end;
            continue;
        }
        const x = MARGIN + (from - view.left) * scale, width = (to - from) * scale;
        if (width < .6 && i !== state.zoom) {
            if (!crumb || crumb.parent !== cell.parent) {
                drawCrumb(into, crumb);
                crumb = {parent: cell.parent, depth: cell.depth, x, width: 0, frames: 0,
                    total: cell.total.map(() => 0), unread: cell.total.map(() => 0)};
            }
            crumb.width = x + width - crumb.x;
            for (let k = i; k < cell.end; k++) {
                crumb.frames += cells[k].folded || 1;
            }
            for (let k = 0; k < SIDES; k++) {
                crumb.total[k] += cell.total[k];
                crumb.unread[k] += cell.unread[k];
            }
            i = cell.end;
            continue;
        }
        drawBox(into, cell, x, width, hits, false);
        i++;
    }
    drawCrumb(into, crumb);
    boxes.textContent = '';
    boxes.appendChild(into);
    svg.classList.toggle('searching', !!hits);
    if (state.focus >= 0) {
        const rect = [...boxes.querySelectorAll('rect')].find((r) => r.cell.i === state.focus);
        if (rect) {
            element('rect', {'class': 'focus', x: rect.getAttribute('x'), y: rect.getAttribute('y'),
                width: Math.max(2, rect.getAttribute('width')), height: BOX, rx: 1}, boxes);
        }
    }
    resetButton.disabled = !state.zoom && !state.search && state.focus < 0;
    caseButton.setAttribute('aria-pressed', String(state.matchCase));
    if (data.diff) {
        widthsButton.textContent = 'Widths: ' + (state.side ? 'baseline' : 'this one');
        scaleButton.textContent = 'Compare: ' + (!state.bySamples ? 'shares' : data.deviceTime ? 'time' : 'samples');
    }
}

let animation = 0;
const still = window.matchMedia && window.matchMedia('(prefers-reduced-motion: reduce)').matches;
function show(animate) {
    const zoom = cells[state.zoom], s = state.side;
    const to = {left: zoom.left[s], width: zoom.total[s] || all.total[s]};
    cancelAnimationFrame(animation);
    if (!animate || still || cells.length > 6000 || document.hidden) {
        view = to;
        draw();
        return;
    }
    const from = view, begin = performance.now();
    const step = (now) => {
        const t = Math.min(1, (now - begin) / 170), e = 1 - Math.pow(1 - t, 3);
        const right = from.left + from.width + (to.left + to.width - from.left - from.width) * e;
        const left = from.left + (to.left - from.left) * e;
        view = t < 1 ? {left, width: Math.max(right - left, 1e-9)} : to;
        draw();
        if (t < 1) {
            animation = requestAnimationFrame(step);
        }
    };
    animation = requestAnimationFrame(step);
}

// ---- search --------------------------------------------------------------------------------

const search = {hits: null, shares: null, boxes: 0, bad: false};

// Matched samples count once: boxes inside a matched box add nothing.
function matched(root) {
    const sums = all.total.map(() => 0), unread = all.total.map(() => 0);
    let n = 0;
    for (let i = root; i < cells[root].end;) {
        const cell = cells[i];
        if (cell.label >= 0 && search.hits[cell.label]) {
            for (let s = 0; s < SIDES; s++) {
                sums[s] += cell.total[s];
                unread[s] += cell.unread[s];
            }
            n++;
            i = cell.end;
        } else {
            i++;
        }
    }
    return {sums, unread, n};
}

function find() {
    search.hits = null;
    search.bad = false;
    if (state.search) {
        const flags = state.matchCase ? 'u' : 'iu';
        let pattern;
        try {
            pattern = new RegExp(state.search, flags);
        } catch (error) {
            search.bad = true;
            pattern = new RegExp(state.search.replace(/[.*+?^${}()|[\]\\\/-]/g, '\\$&'), flags.replace('u', ''));
        }
        search.hits = labels.map((label) => label.kind !== 1 && pattern.test(label.text));
    }
    found.classList.toggle('bad', search.bad);
    found.textContent = '';
    if (!search.hits) {
        found.title = '';
        return;
    }
    const s = state.side, whole = matched(0);
    let text = [percent(whole.sums[s] / all.total[s]),
        points(errorOf(whole.sums[s] - whole.unread[s], all.total[s] - all.unread[s], all.total[s])),
        'matched'].filter((part) => part).join(' ');
    if (state.zoom) {
        const zoom = cells[state.zoom];
        let inside = false;
        for (let c = zoom; c; c = cells[c.parent]) {
            inside = inside || (c.label >= 0 && search.hits[c.label]);
        }
        const part = inside ? 1 : matched(state.zoom).sums[s] / zoom.total[s];
        text += ', ' + percent(part) + ' of the zoom';
    }
    found.textContent = text;
    found.title = (search.bad ? 'Not a regular expression: searched as plain text. ' : '') +
        count(whole.n) + ' boxes, ' + weight(whole.sums[s]) + (data.deviceTime ? '' : ' samples') +
        (data.foldedShare > .0005 ? '; folded frames (' + percent(data.foldedShare) +
            (data.deviceTime ? ' of the time' : ' of the samples') + ') cannot be searched' : '');
}

// ---- details -------------------------------------------------------------------------------

const tipHolder = element('foreignObject', {x: 0, y: 0, width: 1, height: 1, style: 'pointer-events:none'}, svg);
const tip = html('div', 'tip', '', tipHolder);
tip.setAttribute('role', 'tooltip');
tip.style.display = 'none';

function row(table, ...fields) {
    const tr = html('tr', '', '', table);
    fields.forEach((field, i) => html('td', i ? 'n' : '', field, tr));
}
function sharesRow(table, what, samples, cell, side, error) {
    row(table, what, weight(samples), percent(samples / all.total[side]), error, seconds(samples));
}

function describe(cell) {
    tip.textContent = '';
    const label = cell.label >= 0 ? labels[cell.label] : null;
    html('b', '', label ? label.name : foldText(cell.folded), tip);
    if (label && label.place) {
        html('div', 'where', label.place, tip);
    }
    const kind = !label ? (cell.crumb ? 'too narrow to draw: zoom in to see them' : 'too narrow to keep one by one')
        : label.kind ? KINDS[label.kind] === 'all' ? 'everything that is shown' : KINDS[label.kind]
        : ORIGINS[label.origin] + (label.origin >= 3 && label.pack ? ' ' + label.pack : '');
    html('div', 'where', kind, tip);
    const table = html('table', '', '', tip);
    for (let s = 0; s < SIDES; s++) {
        const name = data.diff ? (s ? 'baseline' : 'this one') : 'total';
        sharesRow(table, name, cell.total[s], cell, s, points(errorOfCell(cell, s)));
        if (label && label.kind === 0) {
            sharesRow(table, data.diff ? '  self' : 'self', cell.self[s], cell, s, '');
        }
    }
    if (data.diff) {
        const d = changeOf(cell), noise = Math.abs(d.change) <= d.error;
        row(table, 'change', '', (d.change > 0 ? '+' : d.change < 0 ? '−' : '') + (100 * Math.abs(d.change)).toFixed(2) +
            (state.bySamples ? ' %' : ' points'), data.deviceTime ? '' : '± ' + (100 * d.error).toFixed(2),
        noise && !data.deviceTime ? 'noise' : '');
    }
    if (!data.diff && cell.waiting[0] > 0) {
        row(table, 'waiting', count(cell.waiting[0]), percent(cell.waiting[0] / cell.total[0]), 'of it', '');
    }
    if (state.zoom && cell.i !== undefined && cell.i > state.zoom && cell.i < cells[state.zoom].end) {
        row(table, 'of the zoom', '', percent(cell.total[state.side] / cells[state.zoom].total[state.side]), '', '');
    }
}

function place(x, y) {
    tip.style.display = 'block';
    const width = tip.offsetWidth, height = tip.offsetHeight;
    const box = svg.getBoundingClientRect();
    const seenBottom = Math.min(box.height, window.innerHeight - box.top);
    const left = Math.max(4, Math.min(x + 14, pageWidth - width - 4));
    const topSide = y + 18 + height <= seenBottom ? y + 18 : Math.max(4, y - height - 12);
    tipHolder.setAttribute('x', left);
    tipHolder.setAttribute('y', topSide);
    tipHolder.setAttribute('width', width + 2);
    tipHolder.setAttribute('height', height + 2);
}
function hide() {
    tip.style.display = 'none';
}
function position(event) {
    const box = svg.getBoundingClientRect();
    return [(event.clientX - box.left) * pageWidth / box.width, (event.clientY - box.top) * pageWidth / box.width];
}

// ---- state and links -----------------------------------------------------------------------

function link() {
    const parts = [];
    if (state.zoom) {
        parts.push('zoom=' + pathHash(cells[state.zoom]));
    }
    if (state.search) {
        parts.push('search=' + encodeURIComponent(state.search));
    }
    if (state.matchCase) {
        parts.push('case=1');
    }
    if (data.diff && state.side !== (data.baseWidths ? 1 : 0)) {
        parts.push('widths=' + (state.side ? 'baseline' : 'this'));
    }
    if (data.diff && state.bySamples !== data.bySamples) {
        parts.push('compare=' + (state.bySamples ? 'samples' : 'shares'));
    }
    return parts.length ? '#' + parts.join('&') : '#';
}

let ownHash = location.hash;
// A zoom is a step that "back" undoes; typing is not.
function store(step) {
    const hash = link();
    if ((location.hash || '#') === hash) {
        return;
    }
    try {
        history[step ? 'pushState' : 'replaceState'](null, '', hash);
    } catch (error) {
        if (step) {
            location.hash = hash;
        } else {
            location.replace(hash);
        }
    }
    ownHash = location.hash;
}

function readLink() {
    const wanted = {zoom: 0, search: '', matchCase: false, side: data.baseWidths ? 1 : 0, bySamples: data.bySamples};
    for (const part of location.hash.slice(1).split('&')) {
        const at = part.indexOf('='), key = part.slice(0, at);
        let value = part.slice(at + 1);
        try {
            value = decodeURIComponent(value);
        } catch (error) { /* as it is */ }
        if (key === 'zoom') {
            const cell = cells.find((c) => c.parent >= 0 && pathHash(c) === value);
            wanted.zoom = cell ? cell.i : 0;
        } else if (key === 'search') {
            wanted.search = value;
        } else if (key === 'case') {
            wanted.matchCase = value === '1';
        } else if (key === 'widths' && data.diff) {
            wanted.side = value === 'baseline' ? 1 : 0;
        } else if (key === 'compare' && data.diff) {
            wanted.bySamples = value === 'samples';
        }
    }
    Object.assign(state, wanted);
    input.value = state.search;
}

function change(wanted) {
    const zooms = wanted.zoom !== undefined && wanted.zoom !== state.zoom;
    Object.assign(state, wanted);
    hide();
    find();
    show(zooms);
    store(zooms);
}
function zoomTo(cell) {
    if (cell.total[state.side] > 0) {
        change({zoom: cell.i, focus: state.focus >= 0 ? cell.i : -1});
    }
}
function reset() {
    input.value = '';
    change({zoom: 0, search: '', focus: -1});
}

// ---- events --------------------------------------------------------------------------------

boxes.addEventListener('click', (event) => {
    const cell = event.target.cell;
    if (cell) {
        // A crumb and a fold open what they are in.
        zoomTo(cell.i === undefined || cell.label < 0 ? cells[cell.parent] : cell);
    }
});
boxes.addEventListener('mousemove', (event) => {
    if (event.target.cell) {
        describe(event.target.cell);
        place(...position(event));
    } else {
        hide();
    }
});
boxes.addEventListener('mouseleave', hide);
legendGroup.addEventListener('click', () => svg.focus());
input.addEventListener('input', () => change({search: input.value}));

function focusOn(cell) {
    state.focus = cell.i;
    let inside = false;
    for (let c = cell; c; c = cells[c.parent]) {
        inside = inside || c.i === state.zoom;
    }
    if (!inside && cells[state.zoom].parent >= 0 && cell.i !== 0) {
        change({zoom: cell.parent >= 0 ? cell.parent : 0});
    } else {
        draw();
    }
    const rect = boxes.querySelector('.focus');
    if (rect) {
        rect.scrollIntoView({block: 'nearest', inline: 'nearest'});
        describe(cell);
        place(+rect.getAttribute('x'), +rect.getAttribute('y') + 10);
    }
}
function sibling(cell, step) {
    const row = cells.filter((c) => c.depth === cell.depth && c.total[state.side] > 0 && c.label >= 0);
    return row[row.indexOf(cell) + step];
}
function move(key) {
    const cell = cells[state.focus >= 0 ? state.focus : state.zoom];
    const deeper = data.inverted ? 'ArrowUp' : 'ArrowDown';
    let next = cell;
    if (state.focus < 0) {
        next = cell;
    } else if (key === 'ArrowLeft') {
        next = sibling(cell, -1);
    } else if (key === 'ArrowRight') {
        next = sibling(cell, 1);
    } else if (key === deeper) {
        next = cells.slice(cell.i + 1, cell.end).find((c) => c.parent === cell.i && c.total[state.side] > 0);
    } else {
        next = cells[cell.parent];
    }
    if (next) {
        focusOn(next);
    }
}
function nextHit(step) {
    if (!search.hits) {
        return;
    }
    const list = cells.filter((c) => c.label >= 0 && search.hits[c.label] && c.total[state.side] > 0);
    const at = list.findIndex((c) => c.i === state.focus);
    if (list.length) {
        focusOn(list[at < 0 ? (step > 0 ? 0 : list.length - 1) : (at + step + list.length) % list.length]);
    }
}

document.addEventListener('keydown', (event) => {
    const typing = event.target === input, control = event.ctrlKey || event.metaKey;
    const key = event.key;
    let used = true;
    if ((control && key === 'f') || (!typing && key === '/')) {
        input.focus();
        input.select();
    } else if (control && key === 'i') {
        change({matchCase: !state.matchCase});
    } else if (key === 'Escape') {
        if (state.search) {
            input.value = '';
            change({search: ''});
        } else {
            reset();
        }
        input.blur();
    } else if (typing) {
        used = key === 'Enter';
        if (used) {
            nextHit(event.shiftKey ? -1 : 1);
        }
    } else if (control || event.altKey) {
        used = false;
    } else if (key.startsWith('Arrow')) {
        move(key);
    } else if ((key === 'Enter' || key === ' ') && state.focus >= 0) {
        const cell = cells[state.focus];
        zoomTo(cell.label < 0 ? cells[cell.parent] : cell);
    } else if (key === 'Backspace' && state.zoom) {
        zoomTo(cells[cells[state.zoom].parent]);
    } else if (key === 'Home') {
        change({zoom: 0});
    } else if (key === 'n' && search.hits) {
        nextHit(1);
    } else if (key === 'N' && search.hits) {
        nextHit(-1);
    } else if (key === 'w' && data.diff) {
        change({side: 1 - state.side});
    } else if (key === 'n' && data.diff) {
        change({bySamples: !state.bySamples});
    } else {
        used = false;
    }
    if (used) {
        event.preventDefault();
    }
});

function readAndShow() {
    readLink();
    find();
    show(false);
}
window.addEventListener('hashchange', () => {
    if (location.hash !== ownHash) {
        ownHash = location.hash;
        readAndShow();
    }
});
window.addEventListener('popstate', () => {
    ownHash = location.hash;
    readAndShow();
});

function resize() {
    const standalone = document.documentElement === svg;
    const width = data.fluid ? (standalone ? window.innerWidth : svg.parentElement.clientWidth) : pageWidth;
    pageWidth = Math.max(360, Math.round(width));
    layHead();
    draw();
}
if (data.fluid) {
    window.addEventListener('resize', resize);
}
measure();
readLink();
find();
view = {left: cells[state.zoom].left[state.side], width: cells[state.zoom].total[state.side] || all.total[state.side]};
resize();
// A scroll bar that the new height brings makes the window narrower.
if (data.fluid && document.documentElement === svg && document.documentElement.clientWidth) {
    const inner = document.documentElement.clientWidth;
    if (inner !== pageWidth && inner > 360) {
        pageWidth = inner;
        layHead();
        draw();
    }
}
})();
