// SPDX-License-Identifier: Apache-2.0
// The panel below the tracks: the selected slice, the selected time range, matches, steps, notes.

import {ask} from "/api.js";
import {count, duration, element, percent, time, value} from "/format.js";
import {KEYS} from "/input.js";
import {Notes} from "/notes.js";
import {openInPerfetto} from "/perfetto.js";

const byId = (id) => document.getElementById(id);

/** [["th", "td"], …] as a table of two columns. */
function pairs(rows) {
    return element("table", {}, element("tbody", {}, ...rows.map(([name, content, title]) =>
        element("tr", {}, element("th", {scope: "row", title}, name), element("td", {}, content)))));
}

function withUnit(field) {
    if (typeof field.value !== "number") {
        return String(field.value ?? "–");
    }
    if (field.unit === "") {
        return String(field.value); // the number of something
    }
    return field.unit === "%" ? `${+field.value.toPrecision(4)} %` : value(field.value, field.unit);
}

/** Fields as rows; those of three dimensions in one: "64 × 1 × 1 blocks". */
function fieldRows(fields) {
    const rows = [], solid = {};
    for (const field of fields) {
        const [, shape] = /^(grid|block)_([xyz])$/.exec(field.name) || [];
        if (!shape) {
            rows.push([field.name.replaceAll("_", " "), withUnit(field), field.meaning]);
        } else if (solid[shape]) {
            solid[shape][1] = solid[shape][1].replace(/ \D*$/, ` × ${field.value} ${field.unit}`);
        } else {
            solid[shape] = [shape, `${field.value} ${field.unit}`, field.meaning];
            rows.push(solid[shape]);
        }
    }
    return rows;
}

export class Panel {
    constructor(page) {
        this.page = page;
        this.tab = "slice";
        this.latest = 0; // the number of the last question whose answer is wanted
        this.notes = new Notes(page, this);
        this.sums = null;
        this.drawTabs();
        this.listen();
        this.clear();
        const steps = page.state.overview.steps;
        byId("steps").hidden = steps === 0;
        byId("step").textContent = steps === 1 ? "1 step" : `${count(steps)} steps`;
        byId("outlier").disabled = page.state.overview.outliers === 0;
    }

    listen() {
        const query = byId("query");
        let timer = 0;
        query.addEventListener("input", () => {
            clearTimeout(timer);
            timer = setTimeout(() => this.find(false), 250);
        });
        query.addEventListener("keydown", (event) => {
            if (event.key === "Enter") {
                clearTimeout(timer);
                this.find(event.shiftKey, true);
            }
        });
        byId("hit-next").addEventListener("click", () => this.findNext(false));
        byId("hit-back").addEventListener("click", () => this.findNext(true));
        byId("step-next").addEventListener("click", () => this.showStep("next"));
        byId("step-back").addEventListener("click", () => this.showStep("previous"));
        byId("outlier").addEventListener("click", () => this.showStep("outlier"));
        byId("fit").addEventListener("click", () => this.page.state.fit());
        byId("note").addEventListener("click", () => this.addNote());
        byId("help").addEventListener("click", () => this.showKeys());
        byId("perfetto").addEventListener("click", () => openInPerfetto(this.page.state)
            .catch((error) => this.fail(error)));
    }

    // --- tabs ---------------------------------------------------------------------------------

    drawTabs() {
        const names = {slice: "Slice", range: "Time range", notes: "Notes"};
        byId("tabs").replaceChildren(...Object.entries(names).map(([tab, name]) => element("button", {
            "role": "tab", "aria-selected": String(this.tab === tab), "aria-controls": "content", "id": `tab-${tab}`,
            "tabindex": this.tab === tab ? "0" : "-1",
            "onclick": () => this.open(tab), "onkeydown": (event) => this.moveTab(event, Object.keys(names)),
        }, tab === "notes" && this.page.state.notes.length > 0 ? `${name} (${this.page.state.notes.length})` : name)));
        byId("content").setAttribute("aria-labelledby", `tab-${this.tab}`);
    }

    moveTab(event, tabs) {
        const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
        if (by) {
            event.preventDefault();
            event.stopPropagation();
            this.open(tabs[(tabs.indexOf(this.tab) + by + tabs.length) % tabs.length]);
            byId(`tab-${this.tab}`).focus();
        }
    }

    open(tab) {
        this.tab = tab;
        this.drawTabs();
        const draw = {slice: () => this.drawSlice(), range: () => this.drawRange(), notes: () => this.notes.draw()};
        draw[tab]();
    }

    show(...content) {
        byId("content").replaceChildren(...content.filter(Boolean));
        byId("content").scrollTop = 0;
    }

    clear() {
        this.latest++;
        this.open("slice");
    }

    fail(error) {
        this.show(element("p", {class: "wrong", role: "alert"}, error instanceof TypeError
            ? "The server does not answer: has stepscope view ended?" : error.message));
    }

    /** The answer, unless a later question was asked meanwhile; failures are shown. */
    async question(path, values) {
        const number = ++this.latest;
        try {
            const answer = await ask(path, values);
            return number === this.latest ? answer : null;
        } catch (error) {
            this.fail(error);
            return null;
        }
    }

    // --- slices -------------------------------------------------------------------------------

    /** Selects a slice by {track, lane, position}; `together`: what it was drawn with. */
    async select({track, lane, position, together = null}, moves = false) {
        const slice = await this.question("slice", {track, lane, position});
        if (slice === null) {
            return;
        }
        const {state} = this.page;
        slice.together = together && together.count > 1 ? together : null;
        state.selected = slice;
        if (moves) {
            this.page.scrollTo(this.page.layout.tracks[track], lane);
            state.reveal(slice.begin_ns, slice.duration_ns);
        }
        this.page.speak(`${slice.name}, ${duration(slice.duration_ns)}, at ${time(slice.begin_ns, 1000)}, ${slice.where}`);
        this.open("slice");
        this.page.changed();
    }

    link(slice, text = slice.name) {
        return element("button", {class: "link", type: "button", title: slice.where,
                                  onclick: () => this.select(slice, true)}, text);
    }

    drawSlice() {
        const slice = this.page.state.selected;
        if (!slice) {
            this.show(element("p", {class: "dim"}, "Select a slice for its details, or drag over a time range for its sums. "),
                      element("p", {class: "dim"}, "W and S zoom, A and D move; ? shows all keys."), this.hidden());
            return;
        }
        const rows = [["Begin", time(slice.begin_ns)], ["Duration", this.lengthOf(slice)]];
        if (slice.inside) {
            rows.push(["Self", `${duration(slice.self_ns)}, without what is inside`]);
        }
        rows.push(["Where", slice.where]);
        if (slice.type || slice.category) {
            rows.push(["Kind", [...new Set([slice.type, slice.category].filter(Boolean))].join(" · ")]);
        }
        const fields = fieldRows(slice.fields);
        this.show(
            slice.together && element("p", {class: "dim"}, `${count(slice.together.count)} slices are drawn together here, `
                + `${slice.together.busy} % of ${duration(slice.together.duration)}. The longest of them:`),
            element("h2", {}, slice.name),
            element("div", {class: "columns"}, pairs(rows), fields.length > 0 ? pairs(fields) : null,
                    this.related(slice)));
    }

    /** What the timeline leaves out. */
    hidden() {
        const hidden = this.page.state.overview.hidden;
        return hidden > 0 ? element("p", {class: "wrong"}, `${count(hidden)} slices are nested too deep to be shown.`) : null;
    }

    lengthOf(slice) {
        const cut = slice.begin_unseen ? " (its begin was not recorded)" : slice.end_unseen ? " (its end was not recorded)" : "";
        return `${time(slice.duration_ns)}${cut}`;
    }

    related(slice) {
        const lines = [];
        if (slice.around.length > 0) {
            lines.push(element("h3", {}, "Inside of"),
                       ...slice.around.map((outer) => element("div", {class: "name"}, this.link(outer))));
        }
        if (slice.links.length > 0) {
            lines.push(element("h3", {}, "Arrows"), ...slice.links.map((link) => this.arrow(slice, link)));
        }
        if (slice.hidden_links > 0) {
            lines.push(element("div", {class: "dim"}, `and ${count(slice.hidden_links)} more`));
        }
        return lines.length > 0 ? element("div", {}, ...lines) : null;
    }

    arrow(slice, link) {
        const distance = link.slice.begin_ns - slice.begin_ns;
        const where = link.slice.where === slice.where ? "" : `, ${link.slice.where}`;
        return element("div", {class: "arrow"}, element("span", {}, link.kind), this.link(link.slice),
            element("span", {}, `${duration(Math.abs(distance))} ${distance < 0 ? "before" : "later"}${where}`));
    }

    /** To a neighbour in the lane, to the slice around, or to the first inside. */
    step(along, across) {
        const slice = this.page.state.selected;
        const position = slice.position + along;
        if (across < 0 && slice.around.length > 0) {
            this.select(slice.around[0], true);
        } else if (across > 0 && slice.inside) {
            this.select(slice.inside, true);
        } else if (along !== 0 && position >= 0 && position < slice.in_lane) {
            this.select({...slice, position, together: null}, true);
        }
    }

    zoomToSelected() {
        const {selected, range} = this.page.state;
        const [from, to] = range ? [range.from, range.to]
            : selected ? [selected.begin_ns, selected.begin_ns + selected.duration_ns] : [];
        if (from !== undefined) {
            const margin = Math.max((to - from) * 0.05, 10);
            this.page.state.show(from - margin, to + margin);
        }
    }

    // --- a time range -------------------------------------------------------------------------

    async showRange() {
        const range = this.page.state.range;
        const from = Math.floor(range.from), to = Math.max(Math.ceil(range.to), Math.floor(range.from) + 1);
        this.sums = null;
        this.page.changed();
        this.open("range");
        const sums = await this.question("sums", {from, to});
        if (sums !== null) {
            this.sums = {...sums, from, to};
            this.page.speak(`${duration(to - from)} selected`);
            this.open("range");
        }
    }

    /** The visible time as the selected range: what the picture shows, as tables. */
    selectWindow() {
        const {state} = this.page;
        state.range = {from: Math.max(0, state.from), to: Math.min(state.duration, state.to)};
        this.showRange();
    }

    drawRange() {
        const range = this.page.state.range;
        if (!range) {
            this.show(element("p", {class: "dim"}, "Drag over a time range of the tracks: its time by name and by track is shown here."),
                      element("button", {type: "button", onclick: () => this.selectWindow()}, "Select what is visible"));
            return;
        }
        const span = range.to - range.from;
        const head = element("p", {}, element("strong", {}, duration(span)), ` from ${time(range.from, span / 1000)} to ${time(range.to, span / 1000)}`);
        if (!this.sums) {
            this.show(head, element("p", {class: "dim"}, "Adding up …"));
            return;
        }
        this.show(head, element("div", {class: "columns"}, this.nameTable(this.sums), this.trackTable(this.sums)));
    }

    nameTable(sums) {
        const rows = sums.names.map((row) => element("tr", {},
            element("td", {class: "name", title: row.name}, element("button", {class: "link", type: "button",
                onclick: () => this.search(row.name)}, row.name)),
            ...[duration(row.self_ns), duration(row.total_ns), count(row.count)]
                .map((text) => element("td", {class: "number"}, text))));
        return this.table(["Name", "Self", "With inner", "Slices"], rows, sums.all_names - sums.names.length, "names");
    }

    trackTable(sums) {
        const {layout} = this.page, span = sums.to - sums.from;
        const rows = sums.tracks.map((row) => {
            const track = layout.tracks[row.track];
            const text = `${layout.groups[track.group].name} · ${track.name}`;
            return element("tr", {}, element("td", {class: "name", title: text}, text),
                ...[row.busy_ns ? duration(row.busy_ns) : "–", row.busy_ns ? percent(row.busy_ns / span) : "–", count(row.count)]
                    .map((each) => element("td", {class: "number"}, each)));
        });
        return this.table(["Track", "Busy", "Of the range", "Slices"], rows, sums.all_tracks - sums.tracks.length, "tracks");
    }

    table(heads, rows, hidden, what) {
        return element("div", {}, element("table", {},
            element("thead", {}, element("tr", {}, ...heads.map((head, index) =>
                element("th", {scope: "col", class: index > 0 ? "number" : null}, head)))),
            element("tbody", {}, ...rows)),
            hidden > 0 ? element("p", {class: "dim"}, `and ${count(hidden)} more ${what}`) : null);
    }

    // --- search -------------------------------------------------------------------------------

    search(text) {
        byId("query").value = text;
        this.find(false);
    }

    /** Searches anew; `goes`: also shows the first match in the window or after it. */
    async find(backward, goes = false) {
        const text = byId("query").value, {state} = this.page;
        state.query = text.toLowerCase();
        if (text === "") {
            state.density = null;
            byId("found").textContent = "";
            byId("hit-next").disabled = byId("hit-back").disabled = true;
            this.page.changed();
            return;
        }
        if (goes && this.searched === text) {
            await this.findNext(backward);
            return;
        }
        const found = await this.question("search", state.from > 0 ? {text, after: Math.floor(state.from)} : {text});
        if (found === null) {
            return;
        }
        this.searched = text;
        state.density = found.parts;
        byId("found").textContent = `${count(found.count)} ${found.count === 1 ? "match" : "matches"}`;
        byId("hit-next").disabled = byId("hit-back").disabled = found.count === 0;
        this.page.changed();
        if (goes && found.next) {
            await this.select(found.next, true);
        }
    }

    /** The match after the selected slice, or before it; goes round at the ends. */
    async findNext(backward) {
        const {state} = this.page, text = byId("query").value, selected = state.selected;
        if (text === "") {
            byId("query").focus();
            return;
        }
        const way = backward ? {backward: 1} : {};
        const place = selected ? {after: selected.begin_ns, track: selected.track, lane: selected.lane}
            : state.from > 0 ? {after: Math.floor(state.from)} : {};
        let found = await this.question("search", {text, ...way, ...place});
        if (found && !found.next && found.count > 0) {
            found = await this.question("search", {text, ...way});
        }
        if (found && found.next) {
            await this.select(found.next, true);
        }
    }

    // --- steps --------------------------------------------------------------------------------

    /** The next or previous step, or the next outlier, of the process of the selection. */
    async showStep(which) {
        const {state, layout} = this.page, selected = state.selected;
        const track = selected ? layout.tracks[selected.track] : null;
        const group = layout.groups[track ? track.group : [...layout.openGroups][0]];
        const at = selected && track.kind === "steps" ? {at: selected.begin_ns}
            : state.from > 0 ? {at: Math.floor(state.from)} : {};
        const answer = await this.question("step", {which, process: group ? group.process : 0, ...at});
        if (answer === null) {
            return;
        }
        const step = answer.step;
        if (step === null) {
            byId("step").textContent = {next: "no later step", previous: "no earlier step", outlier: "no later outlier"}[which];
            this.page.speak(byId("step").textContent);
            return;
        }
        byId("step").textContent = `step ${step.number} · ${step.kind}`;
        await this.select(step, true);
        const margin = step.duration_ns * 0.08 + 10;
        state.show(step.begin_ns - margin, step.begin_ns + step.duration_ns + margin);
    }

    // --- notes, keys --------------------------------------------------------------------------

    addNote() {
        this.notes.add();
    }

    showKeys() {
        const dialog = byId("dialog");
        dialog.replaceChildren(element("h2", {id: "dialog-title"}, "Keys and pointer"),
            element("table", {}, element("tbody", {}, ...KEYS.map(([key, meaning]) => element("tr", {},
                element("td", {}, element("kbd", {}, key)), element("td", {}, meaning))))),
            element("form", {method: "dialog"}, element("div", {class: "row"}, element("button", {autofocus: true}, "Close"))));
        dialog.showModal();
    }
}
