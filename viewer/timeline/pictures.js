// SPDX-License-Identifier: Apache-2.0
// What the server drew of each track: a picture a bit wider than the window, asked for again when
// the view leaves it or zooms. Until the new one is here, the last one is drawn.

import {ask} from "/api.js";
import {CHUNK} from "/layout.js";

const MARGIN = 0.3;      // of the window's time, on each side
const LANES_A_REQUEST = 8;
const AT_ONCE = 4;
const REMEMBERED = 400;

export class Pictures {
    constructor(changed) {
        this.changed = changed;
        this.units = new Map();   // "track/chunk" → {from, to, per_px, rows, used}
        this.running = new Set(); // unit keys that are being asked for
        this.requests = 0;
        this.clock = 0;
        this.failure = null;
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

    /** Asks for what of `wanted` ([{track, chunk, lanes}]) is not here. */
    want(wanted, view) {
        this.clock++;
        const missing = wanted.filter(({track, chunk}) => {
            const key = `${track.id}/${chunk}`;
            return !this.running.has(key) && !Pictures.fits(this.units.get(key), view);
        });
        for (const batch of Pictures.batches(missing)) {
            if (this.requests < AT_ONCE) {
                this.request(batch, view);
            }
        }
        this.forget();
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
        const from = Math.max(0, Math.floor(view.from - span * MARGIN));
        const to = Math.ceil(view.to + span * MARGIN) + 1;
        const values = {from, to, px: Math.max(1, Math.min(16384, Math.round((to - from) / view.per_px))),
                        tracks: batch.map(({track}) => track.id).join(",")};
        if (batch.length === 1 && batch[0].track.lanes > CHUNK) {
            Object.assign(values, {first_lane: batch[0].chunk * CHUNK, lanes: CHUNK});
        }
        keys.forEach((key) => this.running.add(key));
        this.requests++;
        try {
            this.store(keys, await ask("picture", values), {from: from === 0 ? -Infinity : from, to,
                                                            per_px: view.per_px});
            this.failure = null;
        } catch (error) {
            this.failure = error;
        }
        keys.forEach((key) => this.running.delete(key));
        this.requests--;
        this.changed();
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
