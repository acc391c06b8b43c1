// SPDX-License-Identifier: Apache-2.0
// Pointer, wheel and keyboard.

import {duration} from "/format.js";

const LEAST_DRAG_PX = 4;

function point(page, event) {
    const box = page.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    return {x, y: event.clientY - box.top,
            ns: page.state.from + x * page.state.perPx(page.drawing.width)};
}

function showTip(page, event) {
    const tip = document.getElementById("tip"), at = point(page, event);
    const hit = page.drag ? null : page.drawing.at(at.x, at.y);
    tip.hidden = hit === null;
    page.canvas.style.cursor = hit && !hit.isValue ? "pointer" : "default";
    if (hit) {
        const many = hit.count > 1 ? `${hit.count} slices, ${hit.busy} % of ` : "";
        tip.textContent = hit.isValue ? hit.name : `${hit.name} · ${many}${duration(hit.duration)}`;
        tip.style.left = `${Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 6)}px`;
        tip.style.top = `${Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 6)}px`;
    }
}

/** A drag selects a time range; with Shift or the middle button it moves the window. */
function listenPointer(page) {
    const {canvas, state} = page;
    canvas.addEventListener("pointerdown", (event) => {
        if (event.button > 1) {
            return;
        }
        canvas.setPointerCapture(event.pointerId);
        page.drag = {...point(page, event), moves: event.shiftKey || event.button === 1,
                     from: state.from, to: state.to, top: page.scroll.scrollTop, isDrag: false};
        event.preventDefault();
        page.scroll.focus({preventScroll: true});
    });
    canvas.addEventListener("pointermove", (event) => {
        const drag = page.drag;
        showTip(page, event);
        if (!drag) {
            return;
        }
        const at = point(page, event);
        drag.isDrag = drag.isDrag || Math.abs(at.x - drag.x) >= LEAST_DRAG_PX || (drag.moves && at.y !== drag.y);
        if (drag.isDrag && drag.moves) {
            const by = (at.x - drag.x) * page.state.perPx(page.drawing.width);
            page.scroll.scrollTop = drag.top - (at.y - drag.y);
            state.show(drag.from - by, drag.to - by);
        } else if (drag.isDrag) {
            state.range = {from: Math.max(0, Math.min(drag.ns, at.ns)),
                           to: Math.min(state.duration, Math.max(drag.ns, at.ns))};
            page.changed();
        }
    });
    canvas.addEventListener("pointerup", (event) => {
        const drag = page.drag;
        page.drag = null;
        if (drag && drag.isDrag && !drag.moves) {
            page.panel.showRange();
        } else if (drag && !drag.isDrag) {
            click(page, page.drawing.at(drag.x, drag.y));
        }
        showTip(page, event);
    });
    canvas.addEventListener("pointercancel", () => { page.drag = null; });
    canvas.addEventListener("pointerleave", () => { document.getElementById("tip").hidden = true; });
    canvas.addEventListener("dblclick", () => page.panel.zoomToSelected());
}

function click(page, hit) {
    if (hit && !hit.isValue) {
        page.panel.select({track: hit.track.id, lane: hit.lane, position: hit.position, together: hit});
    } else {
        page.state.selected = null;
        page.state.range = null;
        page.panel.clear();
        page.changed();
    }
}

function listenWheel(page) {
    page.canvas.addEventListener("wheel", (event) => {
        const lines = event.deltaMode === 1 ? 16 : 1;
        if (event.ctrlKey || event.metaKey) {
            event.preventDefault();
            page.state.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY * lines)) / 150), point(page, event).ns);
        } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
            event.preventDefault();
            page.state.move((event.deltaX || event.deltaY) * lines / Math.max(page.drawing.width, 1));
        }
    }, {passive: false});
}

/** In the strip above, a press shows that time; below it, a drag selects a range. */
function listenRuler(page) {
    const ruler = document.getElementById("ruler");
    let isDown = false;
    const jump = (event) => {
        const box = ruler.getBoundingClientRect(), labels = page.canvas.offsetLeft;
        const share = (event.clientX - box.left - labels) / page.drawing.width;
        const span = page.state.to - page.state.from, middle = share * page.state.duration;
        page.state.show(middle - span / 2, middle + span / 2);
    };
    ruler.addEventListener("pointerdown", (event) => {
        isDown = true;
        ruler.setPointerCapture(event.pointerId);
        jump(event);
    });
    ruler.addEventListener("pointermove", (event) => { if (isDown) { jump(event); } });
    ruler.addEventListener("pointerup", () => { isDown = false; });
}

export const KEYS = [
    ["W S", "zoom in, zoom out"], ["A D", "move left, move right"],
    ["← →", "previous, next slice of the lane; without a selection, move"],
    ["↑ ↓", "the slice around, the first slice inside"],
    ["Enter", "zoom to the selection"], ["F", "show everything"],
    ["/", "search"], ["N  Shift-N", "next, previous match"],
    ["[  ]", "previous, next step"], ["O", "next outlier"],
    ["R", "select the visible time: its tables"], ["M", "note on the selected time range"], ["Esc", "select nothing"],
    ["Drag", "select a time range"], ["Shift-drag", "move"],
    ["Ctrl-wheel", "zoom at the pointer"], ["Shift-wheel", "move"],
];

function keyAction(page, event) {
    const {state, panel} = page;
    const arrows = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
    if (arrows[event.key]) {
        const [along, across] = arrows[event.key];
        if (state.selected) {
            return () => panel.step(along, across);
        }
        return along !== 0 ? () => state.move(along * 0.15) : null;
    }
    const actions = {
        "w": () => state.zoom(0.7), "s": () => state.zoom(1 / 0.7),
        "a": () => state.move(-0.2), "d": () => state.move(0.2),
        "f": () => state.fit(), "Enter": () => panel.zoomToSelected(),
        "/": () => document.getElementById("query").select(),
        "n": () => panel.findNext(false), "N": () => panel.findNext(true),
        "[": () => panel.showStep("previous"), "]": () => panel.showStep("next"),
        "o": () => panel.showStep("outlier"), "r": () => panel.selectWindow(), "m": () => panel.addNote(),
        "?": () => panel.showKeys(), "Escape": () => click(page, null),
    };
    return actions[event.key] || actions[event.key.toLowerCase()];
}

function listenKeys(page) {
    document.addEventListener("keydown", (event) => {
        const tag = event.target.tagName, isText = tag === "INPUT" || tag === "TEXTAREA";
        if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("dialog").open) {
            return;
        }
        if (isText) {
            if (event.key === "Escape") { // the text stays
                event.preventDefault();
                page.scroll.focus({preventScroll: true});
            }
            return;
        }
        const isPress = tag === "BUTTON" && (event.key === "Enter" || event.key === " ");
        const action = isPress ? null : keyAction(page, event);
        if (action) {
            event.preventDefault();
            action();
        }
    });
}

export function listen(page) {
    listenPointer(page);
    listenWheel(page);
    listenRuler(page);
    listenKeys(page);
}
