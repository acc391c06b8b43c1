// SPDX-License-Identifier: Apache-2.0
// Notes on time ranges. The server keeps them in a file beside the recording.

import {ask, put} from "/api.js";
import {duration, element, time} from "/format.js";

const byId = (id) => document.getElementById(id);

export class Notes {
    constructor(page, panel) {
        this.page = page;
        this.panel = panel;
        this.revision = 0;
        this.file = "";
        this.load();
    }

    async load() {
        try {
            this.take(await ask("notes"));
        } catch (error) {
            this.failure = error.message;
        }
    }

    take(answer) {
        this.page.state.notes = answer.notes;
        this.revision = answer.revision;
        this.file = answer.file;
        this.failure = answer.problem || null;
        this.panel.drawTabs();
        if (this.panel.tab === "notes") {
            this.draw();
        }
        this.page.changed();
    }

    /** Replaces all notes; where another window changed them meanwhile, shows those. */
    async save(notes) {
        try {
            this.take(await put("notes", {revision: this.revision, notes}));
        } catch (error) {
            await this.load();
            this.panel.fail(error);
        }
    }

    draw() {
        const {state} = this.page;
        const rows = state.notes.map((note, index) => element("tr", {},
            element("td", {class: "number"}, element("button", {class: "link", type: "button", onclick: () => this.show(note)},
                time(note.from_ns, (note.to_ns - note.from_ns) / 100 + 1000))),
            element("td", {class: "number"}, duration(note.to_ns - note.from_ns)),
            element("td", {}, note.text),
            element("td", {}, element("button", {class: "link", type: "button", title: "Remove this note",
                onclick: () => this.save(state.notes.filter((_, other) => other !== index))}, "remove"))));
        const body = rows.length > 0 ? element("table", {}, element("tbody", {}, ...rows))
            : element("p", {class: "dim"}, "No notes yet: drag over a time range, then press M.");
        this.panel.show(body, this.failure ? element("p", {class: "wrong"}, this.failure)
            : element("p", {class: "dim"}, `They are kept in ${this.file}`));
    }

    show(note) {
        const margin = (note.to_ns - note.from_ns) * 0.3 + 100;
        this.page.state.range = {from: note.from_ns, to: note.to_ns};
        this.page.state.show(note.from_ns - margin, note.to_ns + margin);
    }

    /** Asks for the text of a note on the selected time range, slice or window. */
    add() {
        const {state} = this.page, dialog = byId("dialog");
        const range = state.range || (state.selected
            ? {from: state.selected.begin_ns, to: state.selected.begin_ns + state.selected.duration_ns}
            : {from: Math.max(0, state.from), to: Math.min(state.duration, state.to)});
        const text = element("textarea", {"aria-label": "Note", "maxlength": "2000", "required": true, "autofocus": true});
        const form = element("form", {method: "dialog"},
            element("h2", {id: "dialog-title"}, `Note on ${duration(range.to - range.from)} at ${time(range.from, 1000)}`),
            text, element("div", {class: "row"},
                element("button", {type: "button", onclick: () => dialog.close()}, "Cancel"),
                element("button", {type: "submit"}, "Save")));
        form.addEventListener("submit", () => this.save([...state.notes,
            {from_ns: Math.floor(range.from), to_ns: Math.ceil(range.to), text: text.value}])
            .then(() => this.panel.open("notes")));
        dialog.replaceChildren(form);
        dialog.showModal();
    }
}
