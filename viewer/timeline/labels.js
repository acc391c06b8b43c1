// SPDX-License-Identifier: Apache-2.0
// The names of the visible tracks, as buttons that open and fold them.

import {count, element} from "/format.js";

export class Labels {
    constructor(box, page) {
        this.box = box;
        this.page = page;
        this.drawn = "";
    }

    draw() {
        const {state, layout, scroll} = this.page;
        const items = layout.between(state.top, state.top + scroll.clientHeight);
        const drawn = this.box.clientWidth + items.map((item) => `${item.type}${item.y}${item.isOpen}${item.lanes}`).join("|");
        if (drawn !== this.drawn) {
            const focused = document.activeElement?.dataset?.key;
            this.box.replaceChildren(...items.map((item) => this.label(item)));
            this.drawn = drawn;
            if (focused) {
                [...this.box.querySelectorAll("button")].find((each) => each.dataset.key === focused)?.focus();
            }
        }
        items.forEach((item, index) => {
            this.box.children[index].style.top = `${item.y - state.top}px`;
        });
    }

    label(item) {
        const made = element("div", {class: `label ${item.type}`, role: "listitem"}, this.content(item));
        made.style.height = `${item.height}px`;
        return made;
    }

    content(item) {
        const {layout} = this.page, track = item.track;
        if (item.type === "group") {
            const detail = item.group.detail;
            return this.button(item, `group${item.index}`, item.isOpen, `${item.group.name}\n${detail}`,
                               item.group.name, detail ? element("small", {}, detail) : null);
        }
        if (item.type === "counters") {
            return this.button(item, `counters${item.index}`, item.isOpen, "", "Counters ",
                               element("small", {}, `(${item.count})`));
        }
        const title = track.kind === "counter" ? track.name : `${track.name}\n${count(track.slices)} slices`;
        if (item.type === "track" && track.lanes > 1) {
            return this.button(item, `track${track.id}`, !layout.folded.has(track.id), title, track.name);
        }
        const isNarrow = track.kind === "stream" && this.box.clientWidth < 200;
        return element("span", {title}, isNarrow ? track.name.split(" · ").at(-1) : track.name);
    }

    button(item, key, isOpen, title, ...content) {
        return element("button", {
            "type": "button", "aria-expanded": String(isOpen), title, "data-key": key,
            "onclick": () => {
                this.page.layout.toggle(item);
                this.page.changed();
            },
        }, ...content);
    }
}
