// SPDX-License-Identifier: Apache-2.0
// Starts the page: loads the overview, then draws whenever something changed.

import {ask} from "/api.js";
import {watchTheme} from "/colours.js";
import {Drawing} from "/draw.js";
import {element} from "/format.js";
import {CHUNK} from "/layout.js";
import {Layout} from "/layout.js";
import {Labels} from "/labels.js";
import {Panel} from "/panel.js";
import {Pictures} from "/pictures.js";
import {State} from "/state.js";
import {listen} from "/input.js";

const byId = (id) => document.getElementById(id);

class Page {
    constructor(overview) {
        this.canvas = byId("canvas");
        this.scroll = byId("scroll");
        this.layout = new Layout(overview);
        this.state = new State(overview, this.layout, () => this.changed());
        this.pictures = new Pictures(() => this.changed(),
                                      () => { this.isQuiet = this.pictures.requests === 0; });
        this.drawing = new Drawing(this.state, this.pictures);
        this.labels = new Labels(byId("labels"), this);
        this.panel = new Panel(this);
        this.name(overview);
        watchTheme(() => this.changed());
        listen(this);
        new ResizeObserver(() => this.changed()).observe(this.scroll);
        this.scroll.addEventListener("scroll", () => this.changed());
        this.changed();
    }

    name(overview) {
        const files = overview.inputs.map((input) => input.path.replace(/.*\//, ""));
        const title = files.length > 1 ? `${files[0]} and ${files.length - 1} more` : files[0] || "";
        byId("title").textContent = title;
        byId("title").title = overview.inputs.map((input) => input.path).join("\n");
        document.title = `${title} – stepscope view`;
        if (overview.groups.length === 0) {
            byId("labels").replaceWith(element("p", {id: "empty"},
                "This recording has no samples, ranges or counters to show."));
        }
    }

    /** Draws once before the next picture of the screen. */
    changed() {
        if (!this.isDue) {
            this.isDue = true;
            requestAnimationFrame(() => {
                this.isDue = false;
                this.draw();
            });
        }
    }

    draw() {
        byId("spacer").style.height = `${Math.max(this.layout.height, 1)}px`;
        byId("window").style.height = `${this.scroll.clientHeight}px`;
        this.state.top = this.scroll.scrollTop;
        this.labels.draw();
        this.drawing.draw(this.canvas);
        this.drawing.drawRuler(byId("ruler"), this.canvas.offsetLeft);
        this.want();
        if (this.pictures.failure) {
            this.panel.fail(this.pictures.failure);
        }
    }

    /** Asks for the pictures of what can be seen. */
    want() {
        const {state, layout} = this, height = this.scroll.clientHeight;
        const view = {from: state.from, to: state.to, per_px: state.perPx(this.drawing.width)};
        const wanted = [];
        for (const item of layout.between(state.top, state.top + height)) {
            const first = Math.max(0, Math.floor((state.top - item.y) / 20));
            const last = Math.min(Math.max(item.lanes, 1) - 1, Math.floor((state.top + height - item.y) / 20));
            for (let chunk = Math.floor(first / CHUNK); item.track && chunk <= Math.floor(last / CHUNK); chunk++) {
                wanted.push({track: item.track, chunk});
            }
        }
        this.pictures.want(wanted, view, state.duration);
        this.isWhole = this.pictures.isWhole;
        this.isQuiet = this.pictures.requests === 0;
    }

    /** Brings a lane into the visible part. */
    scrollTo(track, lane) {
        const {y, height} = this.layout.reveal(track, lane);
        byId("spacer").style.height = `${this.layout.height}px`;
        const visible = this.scroll.clientHeight;
        if (y < this.scroll.scrollTop || y + height > this.scroll.scrollTop + visible) {
            this.scroll.scrollTop = Math.max(0, y - visible / 3);
        }
        this.changed();
    }

    speak(text) {
        byId("spoken").textContent = text;
    }
}

try {
    window.page = new Page(await ask("overview"));
} catch (error) {
    byId("scroll").replaceChildren(element("p", {id: "empty", role: "alert"}, `This page cannot start: ${error.message}`));
}
