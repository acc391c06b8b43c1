// SPDX-License-Identifier: Apache-2.0
// Which rows the page has, from top to bottom: groups, their tracks, and what is folded.

export const LANE = 20;
export const CHUNK = 16; // lanes that are asked for together
const GROUP = 26;
const COUNTER = 36;

/** What of the overview is open; a group's tracks in the order of the server. */
export class Layout {
    constructor(overview) {
        this.groups = overview.groups;
        this.tracks = [];
        this.openGroups = new Set();
        this.openCounters = new Set();
        this.folded = new Set(); // ids of tracks with one visible lane
        this.groups.forEach((group, index) => {
            for (const track of group.tracks) {
                track.group = index;
                this.tracks[track.id] = track;
                this.foldAtFirst(track, group);
            }
        });
        const first = this.groups.findIndex((group) => group.tracks.some((track) => track.kind !== "counter"));
        this.openGroups.add(Math.max(first, 0));
        this.update();
    }

    /** Threads besides the main one begin with one lane. */
    foldAtFirst(track, group) {
        const isSide = !track.is_main && (track.kind === "thread" || track.kind === "stacks");
        if (track.lanes > 1 && isSide && group.tracks.some((other) => other.is_main)) {
            this.folded.add(track.id);
        }
    }

    /** The one track that stands for a closed group. */
    summary(group) {
        const most = (kind) => group.tracks.filter((track) => track.kind === kind && track.slices > 0)
            .reduce((best, track) => best && best.slices >= track.slices ? best : track, undefined);
        return ["phases", "steps", "stream", "main", "stacks", "thread", "ranges"].map(most).find(Boolean);
    }

    update() {
        this.items = [];
        this.height = 0;
        this.itemOfTrack = new Map();
        this.groups.forEach((group, index) => this.addGroup(group, index));
    }

    add(item) {
        item.y = this.height;
        this.height += item.height;
        this.items.push(item);
        if (item.track) {
            this.itemOfTrack.set(item.track.id, item);
        }
    }

    addGroup(group, index) {
        const isOpen = this.openGroups.has(index);
        this.add({type: "group", group, index, isOpen, height: GROUP,
                  track: isOpen ? undefined : this.summary(group), lanes: 1});
        if (!isOpen) {
            return;
        }
        const counters = group.tracks.filter((track) => track.kind === "counter");
        for (const track of group.tracks.filter((each) => each.kind !== "counter")) {
            const lanes = this.folded.has(track.id) ? 1 : track.lanes;
            this.add({type: "track", track, lanes, height: Math.max(lanes, 1) * LANE + 3});
        }
        if (counters.length > 0) {
            const open = this.openCounters.has(index);
            this.add({type: "counters", index, isOpen: open, count: counters.length, height: LANE + 4});
            for (const track of open ? counters : []) {
                this.add({type: "counter", track, lanes: 0, height: COUNTER});
            }
        }
    }

    toggle(item) {
        const flip = (set, key) => set.delete(key) || set.add(key);
        if (item.type === "group") {
            flip(this.openGroups, item.index);
        } else if (item.type === "counters") {
            flip(this.openCounters, item.index);
        } else if (item.type === "track" && item.track.lanes > 1) {
            flip(this.folded, item.track.id);
        }
        this.update();
    }

    /** Makes a lane of a track visible; returns where it is. */
    reveal(track, lane) {
        this.openGroups.add(track.group);
        if (track.kind === "counter") {
            this.openCounters.add(track.group);
        }
        if (lane > 0) {
            this.folded.delete(track.id);
        }
        this.update();
        const item = this.itemOfTrack.get(track.id);
        return {y: item.y + lane * LANE, height: item.type === "counter" ? COUNTER : LANE};
    }

    /** The items between two heights. */
    between(top, bottom) {
        let low = 0, high = this.items.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (this.items[middle].y + this.items[middle].height <= top) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let end = low;
        while (end < this.items.length && this.items[end].y < bottom) {
            end++;
        }
        return this.items.slice(low, end);
    }
}
