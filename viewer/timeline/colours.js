// SPDX-License-Identifier: Apache-2.0
// Colours: the same name has the same one in every recording; phases have fixed ones.

const PHASES = {data: 38, forward: 212, backward: 268, optimizer: 145, communication: 2,
                checkpoint: 185, evaluation: 95, inference: 200, compile: 318,
                profiler: 30};
const dark = matchMedia("(prefers-color-scheme: dark)");
let made = new Map();
let theme = {};

/** The page's colours, for canvases; read anew when light and dark change. */
export function currentTheme() {
    return theme;
}

export function watchTheme(changed) {
    function read() {
        const style = getComputedStyle(document.documentElement);
        const names = ["page", "bar", "line", "faint", "text", "dim", "accent", "accent-faint", "group",
                       "mark", "note", "flow"];
        theme = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
        made = new Map();
    }
    read();
    dark.addEventListener("change", () => {
        read();
        changed();
    });
}

function hash(text) {
    let value = 2166136261;
    for (let i = 0; i < text.length; i++) {
        value = Math.imul(value ^ text.charCodeAt(i), 16777619);
    }
    value ^= value >>> 15;
    return value >>> 0;
}

function fills(hue, saturation) {
    return dark.matches
        ? {fill: `hsl(${hue} ${saturation * 0.7}% 36%)`, text: "#f4f6f8", edge: `hsl(${hue} ${saturation}% 25%)`}
        : {fill: `hsl(${hue} ${saturation}% 79%)`, text: "#14181d", edge: `hsl(${hue} ${saturation}% 64%)`};
}

/** {fill, text, edge} of a slice. Numbers in names do not count: "step 7" is like "step 8". */
export function colourOf(kind, name) {
    const key = kind === "phases" ? name : name.replace(/\d+/g, "");
    const id = `${kind === "phases" || kind === "steps" ? kind : ""}\0${key}`;
    let colour = made.get(id);
    if (colour === undefined) {
        const mixed = hash(key);
        const hue = kind === "phases" && Object.hasOwn(PHASES, key) ? PHASES[key]
            : kind === "steps" ? 215 : mixed % 360;
        colour = fills(hue, kind === "steps" ? 14 : kind === "phases" ? 62 : 38 + (mixed >>> 9) % 24);
        made.set(id, colour);
    }
    return colour;
}

/** Those of the names of a drawn row, each made when it is first asked for. */
export class RowColours {
    constructor(kind, names) {
        this.kind = kind;
        this.names = names;
        this.colours = [];
        this.of = made; // another theme makes others
    }

    get isOld() {
        return this.of !== made;
    }

    at(index) {
        let colour = this.colours[index];
        if (colour === undefined) {
            colour = colourOf(this.kind, this.names[index]);
            this.colours[index] = colour;
        }
        return colour;
    }
}
