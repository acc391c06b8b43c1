// SPDX-License-Identifier: Apache-2.0
// What the server drew of each track: a picture a bit wider than the window, asked for again when
// the view zooms, leaves it, or comes near its edge, so that a movement finds the next one here. Until
// a new one is here, the last one is drawn.

import {ask} from "/api.js";
import {CHUNK} from "/layout.js";

const MARGIN = 0.3;      // of the window's time, on each side
const MOVING_MARGIN = 0.5; // the same, of a view that moves
const NEAR = 0.2;        // of the window's time: closer to the edge, the next picture is asked for
const LANES_A_REQUEST = 8;
const AT_ONCE = 4;
const REMEMBERED = 400;
const PAUSE_MS = 1000;  // after a failure

export class Pictures {
    constructor(changed, arrived) {
        this.changed = changed;
        this.arrived = arrived;
        this.units = new Map();   // "track/chunk" → {from, to, per_px, rows, used}
        this.running = new Set(); // unit keys that are being asked for
        this.requests = 0;
        this.clock = 0;
        this.failure = null;
        this.asksAt = 0;          // not before: the server failed
        this.isWhole = false;     // all that is visible is here
        this.last = null;         // the view before
        this.isMoving = false;
    }

    get(track, chunk) {
        const unit = this.units.get(`${track}/${chunk}`);
        if (unit) {
            unit.used = this.clock;
        }
        return unit;
    }

    static fits(unit, view) {
        return unit !== undefined && unit.from <= view.from && unit.to >= view.to &&
            unit.per_px <= view.per_px * 1.01 && unit.per_px >= view.per_px / 2.5;
    }

    /** Whether a view that moves on soon needs more than the picture has. */
    isNearEdge(unit, view) {
        const room = (view.to - view.from) * NEAR;
        return unit.to < view.to + room || unit.from > view.from - room;
    }

    /** Asks for what of `wanted` ([{track, chunk, lanes}]) is not here, then for what comes next. */
    want(wanted, view, duration) {
        this.clock++;
        this.duration = duration;
        this.watch(view);
        const unitOf = ({track, chunk}) => this.units.get(`${track.id}/${chunk}`);
        const isRunning = ({track, chunk}) => this.running.has(`${track.id}/${chunk}`);
        const missing = wanted.filter((each) => !Pictures.fits(unitOf(each), view));
        const next = missing.length > 0 || !this.isMoving ? missing
            : wanted.filter((each) => this.isNearEdge(unitOf(each), view));
        this.isWhole = missing.length === 0;
        for (const batch of Pictures.batches(next.filter((each) => !isRunning(each)))) {
            if (this.requests < AT_ONCE && performance.now() >= this.asksAt) {
                this.request(batch, view);
            }
        }
        this.forget();
    }

    /** Notes whether the view moves, or stays where it moved. */
    watch(view) {
        const {last} = this, span = view.to - view.from;
        const isSameScale = last !== null && Math.abs(span - last.to + last.from) < span * 1e-6;
        this.isMoving = isSameScale && (this.isMoving || view.from !== last.from);
        this.last = view;
    }

    /** Whole tracks together, parts of deep tracks alone. */
    static batches(missing) {
        const made = [];
        let batch = [], lanes = 0;
        for (const unit of missing) {
            if (unit.track.lanes > CHUNK) {
                made.push([unit]);
                continue;
            }
            const more = Math.max(unit.track.lanes, 1);
            if (batch.length > 0 && lanes + more > LANES_A_REQUEST) {
                made.push(batch);
                batch = [];
                lanes = 0;
            }
            batch.push(unit);
            lanes += more;
        }
        return batch.length > 0 ? [...made, batch] : made;
    }

    async request(batch, view) {
        const keys = batch.map(({track, chunk}) => `${track.id}/${chunk}`);
        const span = view.to - view.from;
        const margin = this.isMoving ? MOVING_MARGIN : MARGIN;
        const from = Math.max(0, Math.floor(view.from - span * margin));
        const to = Math.ceil(view.to + span * margin) + 1;
        const values = {from, to, px: Math.max(1, Math.min(16384, Math.round((to - from) / view.per_px))),
                        tracks: batch.map(({track}) => track.id).join(",")};
        if (batch.length === 1 && batch[0].track.lanes > CHUNK) {
            Object.assign(values, {first_lane: batch[0].chunk * CHUNK, lanes: CHUNK});
        }
        keys.forEach((key) => this.running.add(key));
        this.requests++;
        try {
            this.store(keys, await ask("picture", values), {from: from === 0 ? -Infinity : from,
                to: to > this.duration ? Infinity : to, per_px: view.per_px});
            this.failure = null;
        } catch (error) {
            this.failure = error;
            this.asksAt = performance.now() + PAUSE_MS;
            setTimeout(() => this.changed(), PAUSE_MS + 1);
        }
        keys.forEach((key) => this.running.delete(key));
        this.requests--;
        if (!this.isWhole || this.failure !== null) {
            this.changed();
        } else {
            this.arrived(); // what comes next: nothing that is visible
        }
    }

    store(keys, answer, covered) {
        for (const key of keys) {
            this.units.set(key, {...covered, rows: new Map(), used: this.clock});
        }
        for (const row of answer.rows) {
            const chunk = Math.floor(row.lane / CHUNK);
            const unit = this.units.get(`${row.track}/${chunk}`);
            if (unit) {
                unit.rows.set(row.lane, row.rects ? {rects: row.rects, names: answer.names} : {points: row.points});
            }
        }
    }

    forget() {
        if (this.units.size > REMEMBERED) {
            const oldest = [...this.units].sort((a, b) => a[1].used - b[1].used);
            oldest.slice(0, this.units.size - REMEMBERED / 2).forEach(([key]) => this.units.delete(key));
        }
    }
}
