// SPDX-License-Identifier: Apache-2.0
// What the page shows: the window of time, what is selected, found and noted.

const LEAST_NS = 20; // of the window

export class State {
    constructor(overview, layout, changed) {
        this.overview = overview;
        this.layout = layout;
        this.changed = changed;
        this.duration = Math.max(overview.duration_ns, 1);
        this.top = 0;          // of the visible part of the tracks, in px
        this.selected = null;  // {track, lane, position, begin_ns, duration_ns, name, links, …}
        this.range = null;     // {from, to}: the selected time range
        this.query = "";       // what is searched, in lower case
        this.density = null;   // of the matches over the recording
        this.notes = [];
        this.fit();
    }

    perPx(width) {
        return (this.to - this.from) / Math.max(width, 1);
    }

    /** Shows a window; near the recording's ends, and no narrower than the clock. */
    show(from, to) {
        const most = this.duration * 1.1;
        const span = Math.min(Math.max(to - from, LEAST_NS), most);
        const middle = (from + to) / 2;
        this.from = Math.min(Math.max(middle - span / 2, -span * 0.05), this.duration + span * 0.05 - span);
        if (span > this.duration) {
            this.from = (this.duration - span) / 2;
        }
        this.to = this.from + span;
        this.changed();
    }

    fit() {
        this.show(-this.duration * 0.01, this.duration * 1.01);
    }

    zoom(factor, at = (this.from + this.to) / 2) {
        this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
    }

    move(share) {
        const span = this.to - this.from;
        this.show(this.from + span * share, this.to + span * share);
    }

    /** Moves and zooms so that a slice can be seen well. */
    reveal(begin, length) {
        const span = this.to - this.from;
        const isOutside = begin + length < this.from || begin > this.to;
        if (length > span * 0.9 || length < span / 400) {
            const room = Math.max(length * 8, LEAST_NS);
            this.show(begin + length / 2 - room / 2, begin + length / 2 + room / 2);
        } else if (isOutside || begin < this.from || begin + length > this.to) {
            this.show(begin + length / 2 - span / 2, begin + length / 2 + span / 2);
        }
    }
}
