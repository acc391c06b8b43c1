// SPDX-License-Identifier: Apache-2.0
// Draws the visible part of the tracks, and the ruler above them.

import {RowColours, currentTheme} from "/colours.js";
import {duration, time, value} from "/format.js";
import {CHUNK, LANE} from "/layout.js";

const FONT = '11px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
const widths = new Map();

/** A canvas as large as it is shown, in pixels of the page. */
export function prepare(canvas) {
    const scale = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
        canvas.width = Math.round(width * scale);
        canvas.height = Math.round(height * scale);
    }
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.font = FONT;
    return {context, width, height};
}

function widthOf(context, text) {
    let width = widths.get(text);
    if (width === undefined) {
        if (widths.size > 20000) {
            widths.clear();
        }
        width = context.measureText(text).width;
        widths.set(text, width);
    }
    return width;
}

/** The text, or as much of its begin as there is room for. */
function fitted(context, text, room) {
    if (widthOf(context, text) <= room) {
        return text;
    }
    let low = 0, high = Math.min(text.length, Math.ceil(room / 3));
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (widthOf(context, `${text.slice(0, middle)}…`) <= room) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low > 2 ? `${text.slice(0, low).trimEnd()}…` : "";
}

/** The distance of the ruler's marks: 1, 2 or 5 times a power of ten. */
export function tickOf(ns_per_px) {
    const least = ns_per_px * 95;
    const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
    return [1, 2, 5, 10].map((factor) => factor * power).find((tick) => tick >= least) || 1;
}

export class Drawing {
    constructor(state, pictures) {
        this.state = state;
        this.pictures = pictures;
        this.width = 0;
        this.lanes = [];  // what was drawn: {track, lane, row, y, height}
        this.values = []; // and of counters: {x, end, y, …}
    }

    /** What is drawn, in its order: {x, end, y, …}. */
    get hits() {
        return [...this.lanes.flatMap((drawn) => this.hitsOf(drawn)), ...this.values];
    }

    hitsOf({track, lane, row, y, height}) {
        const {rects, names} = row, per_px = this.state.perPx(this.width), found = [];
        for (let i = 0; i < rects.length; i += 6) {
            const begin = rects[i], length = rects[i + 1];
            if (begin + length >= this.state.from && begin <= this.state.to) {
                const {left, wide} = this.extent(begin, length, per_px);
                found.push({x: left, end: left + wide, y, height, track, lane, name: names[rects[i + 2]], begin,
                            duration: length, count: rects[i + 3], position: rects[i + 4], busy: rects[i + 5]});
            }
        }
        return found;
    }

    /** Where a slice is drawn. */
    extent(begin, length, per_px) {
        const left = Math.max((begin - this.state.from) / per_px, -2);
        const right = Math.min((begin + length - this.state.from) / per_px, this.width + 2);
        return {left, wide: Math.max(right - left, 1)};
    }

    x(ns) {
        return (ns - this.state.from) / this.state.perPx(this.width);
    }

    /** Where a lane is drawn, below the top of the window; null: not at all. */
    laneTop(track, lane) {
        const item = this.state.layout.itemOfTrack.get(track);
        if (!item) {
            return null;
        }
        return item.y - this.state.top + (item.type === "group" ? 3 : Math.min(lane, item.lanes - 1) * LANE + 1);
    }

    draw(canvas) {
        const {context, width, height} = prepare(canvas);
        const theme = currentTheme();
        this.context = context;
        this.width = width;
        this.lanes = [];
        this.values = [];
        context.fillStyle = theme.page;
        context.fillRect(0, 0, width, height);
        this.drawGrid(theme, height);
        for (const item of this.state.layout.between(this.state.top, this.state.top + height)) {
            this.drawItem(item, theme);
        }
        this.drawRange(theme, height);
        this.drawSelected(theme);
        this.drawFlows(theme, height);
    }

    drawGrid(theme, height) {
        const tick = tickOf(this.state.perPx(this.width));
        this.context.fillStyle = theme.faint;
        for (let at = Math.ceil(this.state.from / tick) * tick; at < this.state.to; at += tick) {
            this.context.fillRect(Math.round(this.x(at)), 0, 1, height);
        }
    }

    drawItem(item, theme) {
        const context = this.context, y = item.y - this.state.top;
        if (item.type === "group" || item.type === "counters") {
            context.fillStyle = item.type === "group" ? theme.group : theme.page;
            context.fillRect(0, y, this.width, item.height - 1);
        }
        context.fillStyle = theme.faint;
        context.fillRect(0, y + item.height - 1, this.width, 1);
        if (!item.track) {
            return;
        }
        if (item.type === "counter") {
            this.drawCounter(item, y, theme);
            return;
        }
        for (let lane = 0; lane < item.lanes; lane++) {
            const top = y + (item.type === "group" ? 3 : lane * LANE + 1);
            if (top > -LANE && top < this.context.canvas.clientHeight) {
                this.drawLane(item.track, lane, top, theme);
            }
        }
    }

    drawLane(track, lane, y, theme) {
        const unit = this.pictures.get(track.id, Math.floor(lane / CHUNK));
        const row = unit && unit.rows.get(lane);
        if (!row) {
            return;
        }
        const {rects, names} = row, height = LANE - 2, per_px = this.state.perPx(this.width);
        const from = this.state.from, to = this.state.to, isFound = this.foundNames(row);
        if (!row.colours || row.colours.isOld) {
            row.colours = new RowColours(track.kind, names);
        }
        for (let i = 0; i < rects.length; i += 6) {
            const begin = rects[i], length = rects[i + 1];
            if (begin + length < from) {
                continue;
            }
            if (begin > to) {
                break; // they are in order
            }
            const isOne = rects[i + 3] === 1, {left, wide} = this.extent(begin, length, per_px);
            const fades = isFound !== null && !isFound[rects[i + 2]];
            this.drawRect(row.colours.at(rects[i + 2]), names[rects[i + 2]], isOne, fades,
                          isOne ? 100 : rects[i + 5], left, wide, y, height);
        }
        this.lanes.push({track, lane, row, y, height});
        this.context.globalAlpha = 1;
    }

    /** Which names of a row match the search; null: nothing is searched. */
    foundNames(row) {
        const query = this.state.query;
        if (query === "") {
            return null;
        }
        if (row.query !== query) {
            row.query = query;
            row.isFound = row.names.map((name) => name.toLowerCase().includes(query));
        }
        return row.isFound;
    }

    drawRect(colour, name, isOne, fades, busy, left, wide, y, height) {
        const context = this.context;
        context.globalAlpha = fades ? 0.22 : isOne ? 1 : 0.5 + 0.45 * busy / 100;
        context.fillStyle = colour.fill;
        context.fillRect(left, y, wide, height);
        if (wide >= 4) {
            context.fillStyle = colour.edge;
            context.fillRect(left + wide - 1, y, 1, height);
        }
        if (wide >= 26 && isOne) {
            const label = fitted(context, name, wide - 8);
            context.fillStyle = fades ? currentTheme().dim : colour.text;
            context.fillText(label, left + 4, y + height - 5);
        }
    }

    drawCounter(item, y, theme) {
        const unit = this.pictures.get(item.track.id, 0), row = unit && unit.rows.get(0);
        if (!row) {
            return;
        }
        const context = this.context, points = row.points, per_px = this.state.perPx(this.width);
        const bottom = Math.min(item.track.low, 0), top = Math.max(item.track.high, bottom + 1e-9);
        const height = item.height - 7;
        const at = (level) => y + 3 + height * (1 - (level - bottom) / (top - bottom));
        context.fillStyle = theme["accent-faint"];
        context.strokeStyle = theme.accent;
        context.beginPath();
        let isFirst = true;
        for (let i = 0; i < points.length; i += 4) {
            const left = (points[i] - this.state.from) / per_px;
            const next = i + 4 < points.length ? (points[i + 4] - this.state.from) / per_px : this.width + 2;
            if (next < -2 || left > this.width + 2 || points[i + 3] === null) {
                continue;
            }
            const level = at(points[i + 3]), begin = Math.max(left, -2), end = Math.min(next, this.width + 2);
            context.fillRect(begin, level, end - begin, y + 3 + height - level);
            const path = isFirst ? [] : [at(points[i + 2]), at(points[i + 1])]; // from the level before
            path.forEach((each) => context.lineTo(begin, each));
            context[isFirst ? "moveTo" : "lineTo"](begin, level);
            context.lineTo(end, level);
            isFirst = false;
            this.values.push({x: begin, end: Math.max(end, begin + 1), y, height: item.height, track: item.track, lane: 0,
                            name: `${item.track.name}: ${value(points[i + 3], item.track.unit)}`, begin: points[i],
                            duration: 0, isValue: true});
        }
        context.stroke();
        const most = value(item.track.high, item.track.unit);
        context.fillStyle = theme.page;
        context.globalAlpha = 0.7;
        context.fillRect(2, y + 2, widthOf(context, most) + 4, 13);
        context.globalAlpha = 1;
        context.fillStyle = theme.dim;
        context.fillText(most, 4, y + 12);
    }

    /** The selected time range, and the notes. */
    drawRange(theme, height) {
        const context = this.context, range = this.state.range;
        for (const note of this.state.notes) {
            const left = this.x(note.from_ns), right = this.x(note.to_ns);
            context.fillStyle = theme.note;
            context.globalAlpha = 0.1;
            context.fillRect(left, 0, Math.max(right - left, 1), height);
            context.globalAlpha = 0.8;
            context.fillRect(Math.round(left), 0, 1, height);
            context.globalAlpha = 1;
        }
        if (range) {
            const left = this.x(range.from), right = this.x(range.to);
            context.fillStyle = theme["accent-faint"];
            context.fillRect(left, 0, right - left, height);
            context.fillStyle = theme.accent;
            context.fillRect(Math.round(left), 0, 1, height);
            context.fillRect(Math.round(right), 0, 1, height);
        }
    }

    drawSelected(theme) {
        const selected = this.state.selected;
        const top = selected ? this.laneTop(selected.track, selected.lane) : null;
        if (top === null) {
            return;
        }
        const left = Math.max(this.x(selected.begin_ns), -4);
        const right = Math.min(this.x(selected.begin_ns + selected.duration_ns), this.width + 4);
        this.context.strokeStyle = theme.text;
        this.context.lineWidth = 2;
        this.context.strokeRect(left, top, Math.max(right - left, 2), LANE - 2);
        this.context.lineWidth = 1;
    }

    drawFlows(theme, height) {
        const selected = this.state.selected;
        if (!selected || !selected.links) {
            return;
        }
        this.context.strokeStyle = theme.flow;
        this.context.fillStyle = theme.flow;
        for (const link of selected.links) {
            const [from, to] = link.leaves ? [selected, link.slice] : [link.slice, selected];
            this.drawArrow(from, to, height);
        }
    }

    drawArrow(from, to, height) {
        const context = this.context;
        const near = (number, most) => Math.min(Math.max(number, -50), most + 50);
        const top = this.laneTop(from.track, from.lane), end = this.laneTop(to.track, to.lane);
        if (top === null || end === null) {
            return;
        }
        const x1 = near(this.x(from.begin_ns), this.width), y1 = near(top + LANE / 2, height);
        const x2 = near(this.x(to.begin_ns), this.width), y2 = near(end + LANE / 2, height);
        const bend = Math.max(30, Math.abs(x2 - x1) / 2), rise = Math.abs(y2 - y1) < LANE ? LANE * 1.5 : 0;
        context.lineWidth = 1.5;
        context.beginPath();
        context.moveTo(x1, y1);
        context.bezierCurveTo(x1 + bend, y1 + rise, x2 - bend, y2 + rise, x2, y2);
        context.stroke();
        context.beginPath();
        context.moveTo(x2, y2);
        context.lineTo(x2 - 7, y2 - 4);
        context.lineTo(x2 - 7, y2 + 4);
        context.fill();
        context.lineWidth = 1;
    }

    /** What is drawn at a point; the last drawn is on top. */
    at(x, y) {
        const isThere = (each) => y >= each.y && y < each.y + each.height;
        const hits = [...this.lanes.filter(isThere).flatMap((drawn) => this.hitsOf(drawn)),
                      ...this.values.filter(isThere)];
        for (let i = hits.length - 1; i >= 0; i--) {
            const hit = hits[i];
            if (x >= hit.x - 1 && x <= hit.end + 1) {
                const next = hits[i - 1];
                const isNearer = next && next.y === hit.y && x >= next.x && x <= next.end && x < hit.x;
                return isNearer ? next : hit;
            }
        }
        return null;
    }

    /** The strip above the tracks: the whole recording with the window, then the times. */
    drawRuler(canvas, labels) {
        const {context, width: all} = prepare(canvas);
        const theme = currentTheme(), state = this.state, room = this.width, width = labels + room;
        context.fillStyle = theme.bar;
        context.fillRect(0, 0, all, 42);
        const whole = (ns) => labels + room * (ns / state.duration);
        context.fillStyle = theme.faint;
        context.fillRect(labels, 3, room, 11);
        this.drawDensity(context, theme, whole);
        context.fillStyle = theme["accent-faint"];
        const left = Math.max(whole(state.from), labels), right = Math.min(whole(state.to), width);
        context.fillRect(left, 2, Math.max(right - left, 3), 13);
        context.strokeStyle = theme.accent;
        context.strokeRect(left + 0.5, 2.5, Math.max(right - left - 1, 2), 12);
        for (const note of state.notes) {
            context.fillStyle = theme.note;
            context.fillRect(whole(note.from_ns) - 1, 2, 2, 13);
        }
        context.fillStyle = theme.line;
        context.fillRect(0, 41, all, 1);
        this.drawTimes(context, theme, labels, width);
    }

    /** Where the matches of the search are. */
    drawDensity(context, theme, whole) {
        const found = this.state.density;
        const most = found ? Math.max(...found) : 0;
        for (let i = 0; most > 0 && i < found.length; i++) {
            if (found[i] > 0) {
                const left = whole(this.state.duration * i / found.length);
                context.fillStyle = theme.mark;
                context.globalAlpha = 0.35 + 0.65 * found[i] / most;
                context.fillRect(left, 3, Math.max(1, whole(this.state.duration / found.length) - whole(0)), 11);
            }
        }
        context.globalAlpha = 1;
    }

    drawTimes(context, theme, labels, width) {
        const state = this.state, per_px = (state.to - state.from) / (width - labels), tick = tickOf(per_px);
        const first = Math.ceil(Math.max(state.from, 0) / tick) * tick;
        context.fillStyle = theme.dim;
        context.fillText(`window ${duration(state.to - state.from)}`, 8, 33);
        context.save();
        context.beginPath();
        context.rect(labels, 0, width - labels, 42);
        context.clip();
        for (let at = first; at < state.to; at += tick) {
            const x = labels + (at - state.from) / per_px;
            context.fillStyle = theme.line;
            context.fillRect(Math.round(x), 20, 1, 22);
            context.fillStyle = theme.dim;
            context.fillText(time(at, tick), x + 4, 33);
        }
        if (state.range) {
            context.fillStyle = theme["accent-faint"];
            const left = labels + (state.range.from - state.from) / per_px;
            context.fillRect(left, 18, (state.range.to - state.range.from) / per_px, 23);
        }
        context.restore();
    }
}
