// SPDX-License-Identifier: Apache-2.0
// Hands a file and the time range to Perfetto's own interface, in a tab of its own. The file goes
// from this page to that tab; it is not uploaded.

import {fileBytes} from "/api.js";

const ORIGIN = "https://ui.perfetto.dev";
const PATIENCE_MS = 30000;

/** Calls until the tab answers that it listens. */
function ready(tab) {
    return new Promise((resolve, reject) => {
        const timer = setInterval(() => tab.postMessage("PING", ORIGIN), 100);
        const limit = setTimeout(() => {
            end();
            reject(new Error(`${ORIGIN} does not answer: is this browser offline?`));
        }, PATIENCE_MS);
        function listen(event) {
            if (event.origin === ORIGIN && event.source === tab && event.data === "PONG") {
                end();
                resolve();
            }
        }
        function end() {
            clearInterval(timer);
            clearTimeout(limit);
            removeEventListener("message", listen);
        }
        addEventListener("message", listen);
    });
}

/** What the tab does when it has opened the file: the steps stay in sight, and processes are open.
 * These are commands that every Perfetto has, not a plug-in's. */
const COMMANDS = JSON.stringify([
    {id: "dev.perfetto.PinTracksByRegex", args: ["^Steps of "]},
    {id: "dev.perfetto.ExpandTracksByRegex", args: ["^(?!Steps |The |device ).* \\d+$"]}]);

/** The file of the selection, else the first. */
function inputOf(state) {
    const group = state.selected ? state.layout.groups[state.layout.tracks[state.selected.track].group] : null;
    return group && group.input < state.overview.inputs.length ? group.input : 0;
}

export async function openInPerfetto(state) {
    const number = inputOf(state), input = state.overview.inputs[number];
    if (!input || !input.perfetto) {
        throw new Error(`Perfetto does not read ${input ? input.path : "this"}: export it with `
            + "stepscope export --to chrome");
    }
    const range = state.range || {from: Math.max(0, state.from), to: Math.min(state.duration, state.to)};
    const zero = input.perfetto_zero_ns === null ? null : BigInt(input.perfetto_zero_ns);
    const at = (ns) => zero + BigInt(Math.round(ns));
    const where = zero === null ? "" : `&visStart=${at(range.from)}&visEnd=${at(range.to)}`;
    const address = `${ORIGIN}/#!/?startupCommands=${encodeURIComponent(COMMANDS)}${where}`;
    const tab = window.open(address, "_blank");
    if (!tab) {
        throw new Error("The browser did not open a tab: allow pop-up windows of this page.");
    }
    const [buffer] = await Promise.all([fileBytes(number), ready(tab)]);
    const title = input.path.replace(/.*\//, "");
    tab.postMessage({perfetto: {buffer, title, fileName: title, keepApiOpen: true}}, ORIGIN, [buffer]);
}
